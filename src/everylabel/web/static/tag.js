// The main view: a text, its suggestions, the tags it gets.
import { ask, Away, isAway, onConnection } from "./api.js";
import { chosenList } from "./chosen.js";
import { combobox } from "./combobox.js";
import { copied, exportPart } from "./exporting.js";
import { byId, el, fill, focus, say } from "./dom.js";
import { keepDraft, onOutbox, openDraft, post, saved, takeBack, unsent } from "./kept.js";
import { marked, spansIn } from "./places.js";
import { nextQueued } from "./review.js";
import { modelId, modelPath, namesIn, session } from "./session.js";
import { groups, inGroups, suggestion } from "./suggestions.js";
import { openFile, textPart } from "./texts.js";
import { t, when } from "./words.js";
import * as steps from "./work.js";

const K = 12;
const parts = {};
let work = steps.fresh();
let selected = "";
let asking = null;
let adding = null;
let error = "";

const labels = () => work.suggested?.labels ?? [];
const inOrder = () => inGroups(labels());

export async function openWork() {
  work = (await openDraft()) ?? work;
  selected = inOrder()[0]?.id ?? "";
}

export const hasWork = () => steps.hasText(work) || work.chosen.length > 0;

// Every change goes through here: kept first, shown then.
function set(next, ...which) {
  work = next;
  if (!keepDraft(work, !hasWork())) say(t("no.room"));
  for (const one of which) draw[one]?.();
}

export function tagView(main) {
  parts.text = el("section", { className: "text", "aria-labelledby": "text-title" });
  parts.suggestions = el("section", { className: "suggestions", "aria-labelledby": "suggestions-title", "aria-busy": "false" });
  parts.chosen = el("div");
  parts.save = el("div", { className: "save" });
  parts.exporting = exportPart(() => ({ work, model: session.model, language: namesIn() || session.model?.language }));
  parts.saved = el("div");
  adding = combobox({
    model: modelId,
    language: namesIn,
    isChosen: (id) => steps.stateOf(work, id) === "accepted",
    onPick: (label) => {
      const isThere = steps.stateOf(work, label.id) === "accepted";
      set(steps.add(work, label), "suggestions", "chosen");
      say(t(isThere ? "added.before" : "added", { name: label.name }));
    },
  });
  const title = el("h2", { id: "chosen-title" }, t("chosen.title"));
  const tags = el("section", { className: "tags", "aria-labelledby": "chosen-title" }, title, parts.chosen, adding.element, parts.save, parts.exporting.element, parts.saved);
  fill(main, el("div", { className: "columns" }, parts.text, parts.suggestions, tags));
  for (const one of Object.values(draw)) one();
  if (work.asked || (work.suggested && work.suggested.names !== namesIn() && !work.editing)) suggest();
}

const isShown = () => parts.text?.isConnected ?? false;

const draw = {
  text() {
    const label = labels().find(({ id }) => id === selected);
    const marks = (text, field) => marked(text, work.editing || !label ? [] : spansIn(label.evidence ?? [], field));
    textPart(parts.text, work, {
      marks,
      examples: session.details?.examples ?? [],
      onType: (values) => set({ ...work, ...values }),
      onText: start,
      onTag: suggest,
      onEdit: edit,
      onNew: startAgain,
    });
  },
  suggestions() {
    const shown = (label) =>
      suggestion(label, work, {
        selected: label.id === selected,
        onSelect: () => select(label.id),
        onAccept: () => decide(label, "accept"),
        onReject: () => decide(label, "reject"),
      });
    const title = el("h2", { id: "suggestions-title" }, t("suggestions.title"));
    parts.suggestions.setAttribute("aria-busy", String(Boolean(asking)));
    fill(
      parts.suggestions,
      title,
      status(),
      groups(labels()).flatMap((group, place) => [
        group.isNew ? [el("h3", {}, t("new.title")), el("p", { className: "quiet" }, t("new.why"))] : place ? el("h3", {}, t("used.title")) : null,
        el("ol", { className: "list", "aria-label": t(group.isNew ? "new.title" : "used.title") }, group.labels.map(shown)),
      ].flat()),
    );
  },
  chosen() {
    fill(
      parts.chosen,
      chosenList(work, {
        onMove: (label, by) => {
          set(steps.move(work, label.id, by), "chosen");
          const other = by < 0 ? "down" : "up"; // at an end its own button is off
          const own = by < 0 ? "up" : "down";
          if (!focus(parts.chosen, `${own}:${label.id}`)) focus(parts.chosen, `${other}:${label.id}`);
          say(t("moved", { name: label.name, n: work.chosen.findIndex(({ id }) => id === label.id) + 1 }));
        },
        onRemove: (label) => {
          set(steps.accept(work, label), "suggestions", "chosen");
          adding.input.focus();
        },
        onCopy: (label) => copied(label.name),
      }),
    );
    fill(parts.save, savePart());
    parts.exporting.refresh();
    const wasOpen = parts.saved.querySelector("details")?.open ?? false;
    fill(parts.saved, savedPart(wasOpen));
  },
};

function status() {
  if (error) return el("p", { className: "problem", role: "alert" }, error);
  if (asking) return el("p", { className: "quiet" }, el("span", { className: "busy" }), t("suggestions.busy"));
  if (work.asked && isAway()) return el("p", { className: "quiet" }, t("suggestions.later"));
  if (!work.suggested) return el("p", { className: "quiet" }, t("suggestions.before"));
  return labels().length ? null : el("p", { className: "quiet" }, t("suggestions.none"));
}

function savePart() {
  const complete = el("input", { type: "checkbox", id: "complete", "data-f": "complete", checked: work.complete });
  complete.addEventListener("change", () => set({ ...work, complete: complete.checked }));
  const can = steps.hasText(work) && (work.chosen.length > 0 || work.rejected.length > 0);
  return [
    el("p", {}, complete, " ", el("label", { htmlFor: "complete" }, t("complete"))),
    el("p", { className: "buttons" },
      el("button", { type: "button", className: "main", "data-f": "save", disabled: !can, onclick: save }, t("save")),
      el("button", { type: "button", "data-f": "undo", disabled: !work.past.length, onclick: undo }, t("undo"))),
  ];
}

function savedPart(wasOpen) {
  const out = unsent();
  const entries = [...out.map((one) => ({ ...one, key: one.body.key, at: new Date(one.at).toISOString(), isOut: true })), ...saved()];
  if (!entries.length) return null;
  const item = (one) =>
    el("li", {},
      el("span", {}, el("bdi", {}, one.shown.title), " ", el("span", { className: "quiet" }, `${t("tags", { n: one.shown.n })} · ${one.isOut ? (one.problem ? t("out.refused", { why: one.problem }) : t("out.waits")) : when(one.at)}`)),
      el("button", { type: "button", className: "small", "data-f": `back:${one.key}`, onclick: () => back(one.key), "aria-label": t("back.named", { name: one.shown.title }) }, t("back")));
  return el("details", { className: "saved", open: wasOpen || out.length > 0 }, el("summary", { "data-f": "saved" }, t("saved.lately", { n: entries.length })), el("ul", {}, entries.map(item)));
}

async function back(key) {
  try {
    await takeBack(key);
    say(t("back.done"));
  } catch (problem) {
    say(problem.message);
  }
}

// A text that came as a whole (pasted, dropped, opened, clicked) is tagged at once.
function start({ title = "", text, documentId = "", queued = null }) {
  const old = work;
  set({ ...steps.fresh(), model: modelId(), title, text: text.replace(/\r\n?/g, "\n"), documentId, queued });
  for (const one of Object.values(draw)) one();
  if (steps.hasText(old)) offerBack(old);
  suggest();
}

export function dropHere(transfer) {
  const [file] = transfer.files;
  const text = transfer.getData("text/plain");
  if (file) openFile(file, { onText: start });
  else if (text.trim()) start({ text });
}

export function openQueued(one) {
  work = { ...steps.fresh(), model: modelId(), title: one.title, text: one.text, documentId: one.document_id, queued: one.id, asked: true, editing: false };
  keepDraft(work, false);
  location.hash = "#/";
}

async function suggest() {
  if (!steps.hasText(work) || !session.model) return;
  asking?.abort();
  const own = (asking = new AbortController());
  error = "";
  const { key } = work;
  set({ ...work, model: modelId(), asked: true, editing: false }, "text", "suggestions");
  const names = namesIn();
  const explain = session.model.method === "tagger";
  try {
    const json = { text: work.text, title: work.title, k: K, explain, language: names };
    const { documents, version } = await ask(modelPath("/tag"), { method: "POST", json, signal: own.signal });
    if (work.key !== key) return;
    const found = [...documents[0].labels, ...documents[0].new_labels];
    asking = null;
    selected = inGroups(found)[0]?.id ?? "";
    const isOther = work.suggested && work.suggested.names !== names;
    set({ ...work, asked: false, suggested: { labels: found, version, names } });
    if (isOther) rename(found, names);
    if (isShown()) {
      for (const one of Object.values(draw)) one();
      if (!byId("said").querySelector("button")) say(t("suggestions.found", { n: found.length })); // an offer to undo stays
      if (!isTyping()) focus(parts.suggestions, `s:${selected}`);
    }
  } catch (problem) {
    if (problem.name === "AbortError") return;
    asking = null;
    if (!(problem instanceof Away && isAway())) {
      error = problem.message;
      set({ ...work, asked: false });
    }
    if (isShown()) draw.suggestions();
  }
}

// Chosen tags get their names in the language that was chosen, too.
async function rename(found, language) {
  const { key } = work;
  const known = new Map(found.map((label) => [label.id, label.name]));
  for (const { id } of work.chosen.filter((label) => !known.has(label.id))) {
    try {
      known.set(id, (await ask(modelPath(`/label?${new URLSearchParams({ id, language })}`))).name);
    } catch {
      // it keeps the name that it has
    }
  }
  if (work.key !== key) return;
  set({ ...work, chosen: work.chosen.map((label) => ({ ...label, name: known.get(label.id) ?? label.name })) });
  if (isShown()) draw.chosen();
}

function isTyping() {
  const here = document.activeElement;
  return Boolean(here?.matches("input, textarea, select") && here.isConnected);
}

function edit() {
  asking?.abort();
  asking = null;
  error = "";
  set({ ...work, editing: true, asked: false }, "text", "suggestions");
  byId("text")?.focus();
}

function startAgain() {
  asking?.abort();
  asking = null;
  error = "";
  const old = work;
  set(steps.fresh(), "text", "suggestions", "chosen");
  byId("text")?.focus();
  if (steps.hasText(old)) offerBack(old);
}

function offerBack(old) {
  const again = () => {
    asking?.abort();
    asking = null;
    set(old, "text", "suggestions", "chosen");
    say("");
  };
  say(t("new.done"), " ", el("button", { type: "button", className: "small", onclick: again }, t("undo")));
}

function select(id, withFocus = false) {
  selected = id;
  draw.text();
  draw.suggestions();
  if (withFocus) focus(parts.suggestions, `s:${id}`);
  parts.text.querySelector("mark.word, mark")?.scrollIntoView({ block: "nearest" });
}

function decide(label, what) {
  set(steps[what](work, label), "suggestions", "chosen");
  const state = steps.stateOf(work, label.id);
  say(t(state ? `${state}.said` : "cleared.said", { name: label.name }));
}

function undo() {
  if (!work.past.length) return;
  set(steps.undo(work), "suggestions", "chosen");
  say(t("undone"));
}

async function save() {
  if (!steps.hasText(work) || !(work.chosen.length || work.rejected.length)) return;
  const body = steps.decision(work);
  const beginning = (work.title || work.text).trim().slice(0, 60);
  const { queued, model } = work;
  let sent;
  try {
    sent = post(model || modelId(), body, { title: beginning, n: work.chosen.length });
  } catch {
    say(t("no.room"));
    return;
  }
  selected = "";
  set(steps.fresh(), "text", "suggestions", "chosen");
  if (queued === null) byId("text")?.focus();
  say(t("saving"));
  await sent;
  if (queued !== null) await nextQueued(queued);
  sayWhere(body);
}

// Saved is said when the server has it on disk, not before.
function sayWhere({ key, accepted, added }) {
  const out = unsent().find((one) => one.body.key === key);
  const undoing = el("button", { type: "button", className: "small", onclick: () => back(key) }, t("back"));
  if (out?.problem) say(t("out.refused", { why: out.problem }));
  else say(t(out ? "saved.here" : "saved.done", { n: accepted.length + added.length }), " ", undoing);
}

function step(by) {
  const all = inOrder();
  if (!all.length) return;
  const at = all.findIndex(({ id }) => id === selected);
  const hasFocus = parts.suggestions.contains(document.activeElement);
  const to = hasFocus || at < 0 ? Math.min(Math.max(at + by, 0), all.length - 1) : at;
  select(all[to].id, true);
}

function decideSelected(what) {
  const label = labels().find(({ id }) => id === selected);
  if (!label) return;
  decide(label, what);
  const all = inOrder();
  const next = all[all.findIndex(({ id }) => id === selected) + 1];
  if (next && steps.stateOf(work, label.id)) select(next.id, true);
}

export const keys = {
  j: () => step(1),
  k: () => step(-1),
  a: () => decideSelected("accept"),
  x: () => decideSelected("reject"),
  u: undo,
  s: save,
  e: edit,
  n: startAgain,
  "/": () => adding.input.focus(),
};

onConnection((away) => {
  if (!isShown()) return;
  draw.suggestions();
  if (!away && work.asked) suggest();
});
onOutbox(() => {
  if (isShown()) draw.chosen();
});
