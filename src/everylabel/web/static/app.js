// The page's frame: views by the part of the address after #, choices of model and languages, keys, what is away.
import { isAway, keyOf, onConnection, Refused, setKey } from "./api.js";
import { byId, el, fill, say } from "./dom.js";
import { onOutbox, send, unsent } from "./kept.js";
import { fetchRest, rest } from "./later.js";
import { chooseModel, chooseNames, loadModels, modelId, namesIn, session } from "./session.js";
import { dropHere, isWhole, keys, openWork, tagView } from "./tag.js";
import { current, LANGUAGES, preferred, speak, t } from "./words.js";

const VIEWS = { "#/review": "review", "#/model": "model" };
const KEYS_OFF = "everylabel.keys.off";
const NAMED = ["j", "k", "a", "x", "/", "u", "m", "c", "s", "e", "n", "?"];
let loaded = false;

function show() {
  const view = VIEWS[location.hash] ?? "tag";
  for (const link of byId("views").querySelectorAll("a")) {
    if ((link.getAttribute("href") === location.hash) || (view === "tag" && link.getAttribute("href") === "#/")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${t(`view.${view}`)} · everylabel`;
  if (view === "tag") tagView(byId("main"));
  else if (rest) rest[`${view}View`](byId("main"));
  else fill(byId("main"), el("p", { className: "first quiet" }, t("busy")));
}

function choices() {
  fill(byId("model"), session.models.map(({ id, name }) => el("option", { value: id, selected: id === modelId() }, name)));
  byId("model-line").hidden = session.models.length < 2;
  const languages = session.model?.languages ?? [];
  const nameOf = (code) => new Intl.DisplayNames([current()], { type: "language", fallback: "code" }).of(code);
  const named = (code) => {
    try {
      return nameOf(code);
    } catch {
      return code;
    }
  };
  fill(byId("names"), languages.map((code) => el("option", { value: code, selected: code === (namesIn() || session.model.language) }, named(code))));
  byId("names-line").hidden = languages.length < 2;
  fill(byId("language"), Object.entries(LANGUAGES).map(([code, name]) => el("option", { value: code, lang: code, selected: code === current() }, name)));
}

function banner() {
  const n = unsent().length;
  const out = n ? ` ${t("out", { n })}` : "";
  byId("away").hidden = !isAway() && !n;
  const text = isAway() ? `${t("away")}${out}` : out.trim();
  if (byId("away").textContent !== text) byId("away").textContent = text;
}

async function load(models = loadModels()) {
  try {
    await models;
    loaded = true;
    byId("key-line").hidden = !keyOf();
    choices();
    if (!session.model) say(t("no.models"));
    show();
    send();
  } catch (error) {
    if (error instanceof Refused && [401, 403].includes(error.status)) {
      byId("key-line").hidden = false;
      say(t("key.needed"));
    } else if (error instanceof Refused) say(error.message);
    choices();
    show();
  }
}

function onKey(event) {
  const here = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || byId("help").open) return;
  if (here instanceof Element && here.matches("input:not([type=checkbox]), textarea, select")) return;
  if (localStorage.getItem(KEYS_OFF)) return;
  if (event.key === "?") {
    event.preventDefault();
    openHelp();
  } else if (Object.hasOwn(keys, event.key) && isWhole() && !(location.hash in VIEWS)) {
    event.preventDefault();
    keys[event.key]();
  }
}

function openHelp() {
  fill(byId("keys"), NAMED.flatMap((key) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, t(`key.${key}`))]), el("dt", {}, el("kbd", {}, "Ctrl+Enter")), el("dd", {}, t("key.enter")));
  byId("keys-on").checked = !localStorage.getItem(KEYS_OFF);
  byId("help").showModal();
}

function wire() {
  byId("model").addEventListener("change", async () => {
    try {
      await chooseModel(byId("model").value);
    } catch (error) {
      say(error.message);
    }
    choices();
    show();
  });
  byId("names").addEventListener("change", () => {
    chooseNames(byId("names").value);
    show();
  });
  byId("language").addEventListener("change", async () => {
    const wanted = byId("language").value;
    try {
      await speak(wanted);
      localStorage.setItem("everylabel.language", wanted);
      say(""); // it was said in another language
    } catch {
      say(t("away"));
    }
    choices();
    banner();
    show();
  });
  byId("key-line").addEventListener("submit", (event) => {
    event.preventDefault();
    setKey(byId("key").value.trim());
    say("");
    load();
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address tells the view
    byId("main").focus();
  });
  byId("help-open").addEventListener("click", openHelp);
  byId("keys-on").addEventListener("change", () => {
    if (byId("keys-on").checked) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "1");
  });
  addEventListener("keydown", onKey);
  addEventListener("hashchange", () => {
    if (!byId("said").querySelector("button")) say(""); // what was said of another view; an offer to undo stays
    show();
  });
  addEventListener("paste", (event) => {
    if (event.target.closest?.("input, textarea") || byId("help").open || location.hash in VIEWS || !event.clipboardData) return;
    event.preventDefault(); // wherever the focus is: a text that is pasted is the next one
    dropHere(event.clipboardData);
  });
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer) return;
    if (location.hash in VIEWS) location.hash = "#/";
    dropHere(event.dataTransfer);
  });
  onConnection((away) => {
    banner();
    if (!away && !loaded) load();
  });
  onOutbox(banner);
}

// Before the first words came there is nothing to say it with but these. Were they there at once?
async function firstWords() {
  for (let tries = 1; ; tries += 1) {
    try {
      await speak(preferred());
      return tries === 1;
    } catch {
      byId("away").textContent = "The server does not answer. One moment …";
      byId("away").hidden = false;
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}

// Most browsers remember that a module did not come, and only a new page asks for it again: what was typed is kept.
async function theRest() {
  for (let isBack = false; ; ) {
    try {
      await fetchRest();
      return;
    } catch {
      if (isBack) location.reload();
    }
    byId("away").textContent = t("away");
    byId("away").hidden = false;
    await new Promise((resolve) => setTimeout(resolve, 2000));
    isBack = await fetch("static/later.js").then(({ ok }) => ok, () => false);
  }
}

const working = openWork(); // what does not wait for words begins beside them
const models = loadModels();
models.catch(() => {}); // load says what is wrong
const atOnce = await firstWords();
await working;
wire();
banner();
choices();
show(); // the first view
await theRest();
banner();
await load(atOnce ? models : undefined);
