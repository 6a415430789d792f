// What must not be lost is in the browser's own store: the document at hand, decisions until the server has them.
// Each tab has its own document; a new tab takes up one whose tab is closed.
import { ask, Away, isAway, onConnection, Refused } from "./api.js";
import { newKey } from "./work.js";

const DRAFT = "everylabel.draft.";
const OUT = "everylabel.out.";
const SAVED = "everylabel.saved";
const TAB = "everylabel.tab";
const MOST_SAVED = 2000; // as many as a catalogue file has records: each can be taken back
const listeners = new Set();
let tab = "";
let sending = null;

export const onOutbox = (listener) => listeners.add(listener);
const tell = () => listeners.forEach((listener) => listener());
const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};
const stored = (prefix) => Object.keys(localStorage).filter((key) => key.startsWith(prefix));

async function isFree(name) {
  if (!navigator.locks) return true; // only without TLS, where tabs cannot know of each other
  return new Promise((resolve) => {
    navigator.locks.request(TAB + name, { ifAvailable: true }, (lock) => {
      resolve(Boolean(lock));
      return lock ? new Promise(() => {}) : undefined; // held as long as the tab lives
    });
  });
}

// The document that this tab had, or one that a closed tab has left, or none.
export async function openDraft() {
  const own = sessionStorage.getItem(TAB);
  const drafts = stored(DRAFT)
    .map((key) => ({ name: key.slice(DRAFT.length), draft: parsed(localStorage.getItem(key)) }))
    .filter(({ draft }) => draft?.work)
    .sort((a, b) => (b.name === own) - (a.name === own) || b.draft.at - a.draft.at);
  for (const { name, draft } of drafts) {
    if (await isFree(name)) {
      take(name);
      return draft.work;
    }
  }
  const name = newKey();
  await isFree(name);
  take(name);
  return null;
}

function take(name) {
  tab = name;
  sessionStorage.setItem(TAB, name);
}

// False where the browser has no room: then it is said.
export function keepDraft(work, isEmpty) {
  try {
    if (isEmpty) localStorage.removeItem(DRAFT + tab);
    else localStorage.setItem(DRAFT + tab, JSON.stringify({ at: Date.now(), work: { ...work, past: work.past.slice(-10) } }));
    return true;
  } catch {
    return false;
  }
}

export const waiting = () =>
  stored(OUT)
    .map((key) => parsed(localStorage.getItem(key)))
    .filter(Boolean)
    .sort((a, b) => a.at - b.at);

export const unsent = () => waiting().filter((one) => !one.undone);

export const saved = () => parsed(localStorage.getItem(SAVED)) ?? [];

// Kept first, sent then: a decision is in one place or the other at any moment.
export function post(model, body, shown) {
  localStorage.setItem(OUT + body.key, JSON.stringify({ at: Date.now(), model, body, shown, problem: "" }));
  tell();
  return send();
}

export function discard(key) {
  localStorage.removeItem(OUT + key);
  tell();
}

export function send() {
  sending ??= sendAll().finally(() => (sending = null));
  return sending;
}

async function sendAll() {
  const tried = new Set();
  for (;;) {
    const next = waiting().find((one) => !tried.has(one.body.key));
    if (!next) return;
    tried.add(next.body.key);
    change(next.body.key, { tried: true });
    const path = `models/${encodeURIComponent(next.model)}/decisions`;
    try {
      const done = await ask(path, { method: "POST", json: next.body });
      const isUndone = parsed(localStorage.getItem(OUT + next.body.key))?.undone;
      if (isUndone) await ask(`${path}/${done.id}/undo`, { method: "POST" });
      else remember({ model: next.model, id: done.id, key: next.body.key, at: done.at, shown: next.shown });
      discard(next.body.key);
    } catch (error) {
      if (error instanceof Away) return;
      if (!(error instanceof Refused)) throw error;
      change(next.body.key, { problem: error.message });
      tell();
    }
  }
}

function change(key, values) {
  const found = parsed(localStorage.getItem(OUT + key));
  if (found) localStorage.setItem(OUT + key, JSON.stringify({ ...found, ...values }));
}

function remember(entry) {
  const others = saved().filter((one) => one.key !== entry.key);
  localStorage.setItem(SAVED, JSON.stringify([entry, ...others].slice(0, MOST_SAVED)));
}

// A decision that is not to count: taken back before it was sent, or undone on the server. One whose answer was lost may
// be there or not: it is sent again, which stores it once, and undone.
export async function takeBack(key) {
  await sending;
  const out = parsed(localStorage.getItem(OUT + key));
  if (out) {
    if (out.tried && !out.problem) change(key, { undone: true });
    else discard(key);
    tell();
    await send();
    return;
  }
  const entry = saved().find((one) => one.key === key);
  if (!entry) return;
  await ask(`models/${encodeURIComponent(entry.model)}/decisions/${entry.id}/undo`, { method: "POST" });
  localStorage.setItem(SAVED, JSON.stringify(saved().filter((one) => one.key !== key)));
  tell();
}

onConnection((away) => {
  if (!away) send();
});
addEventListener("storage", (event) => {
  if (event.key?.startsWith(OUT) || event.key === SAVED) tell();
});
// A decision that the server was too busy for has nobody else who sends it again.
setInterval(() => {
  if (!isAway() && waiting().some((one) => !one.problem)) send();
}, 5000);
