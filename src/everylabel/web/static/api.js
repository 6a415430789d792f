// Our JSON interface. What is no answer (no network, a server that restarts or is busy) is Away: ask again later.
export class Away extends Error {}
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const LATER = new Set([408, 429, 500, 502, 503, 504]);
const FIRST_LOOK = 1000;
const SLOWEST_LOOK = 15000;
const listeners = new Set();
let away = false;
let timer = 0;
let pause = FIRST_LOOK;

export const isAway = () => away;
export const onConnection = (listener) => listeners.add(listener);
export const keyOf = () => sessionStorage.getItem("everylabel.key") ?? "";
export const setKey = (key) => sessionStorage.setItem("everylabel.key", key);

export async function ask(path, { method = "GET", json, form, signal, whole = false } = {}) {
  const headers = {};
  if (keyOf()) headers.Authorization = `Bearer ${keyOf()}`;
  if (json !== undefined) headers["Content-Type"] = "application/json";
  const body = json === undefined ? form : JSON.stringify(json);
  let response;
  try {
    response = await fetch(`api/${path}`, { method, headers, body, signal, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    noAnswer();
    throw new Away(error.message);
  }
  const value = whole && response.ok ? response : await read(response);
  if (LATER.has(response.status)) {
    if (response.status !== 500) noAnswer();
    throw new Away(value?.detail ?? response.statusText);
  }
  answered();
  if (!response.ok) throw new Refused(response.status, value?.detail ?? response.statusText);
  return value;
}

async function read(response) {
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch {
    return null;
  }
}

function noAnswer() {
  tell(true);
  if (!timer) timer = setTimeout(look, pause);
}

function answered() {
  clearTimeout(timer);
  timer = 0;
  pause = FIRST_LOOK;
  tell(false);
}

async function look() {
  timer = 0;
  pause = Math.min(2 * pause, SLOWEST_LOOK);
  try {
    await ask("models");
  } catch {
    // refused is an answer, too, and away has set the next look
  }
}

function tell(now) {
  if (now === away) return;
  away = now;
  for (const listener of listeners) listener(away);
}

addEventListener("online", () => {
  if (!away) return;
  clearTimeout(timer);
  pause = FIRST_LOOK;
  look();
});
