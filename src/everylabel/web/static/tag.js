// The main view: a text, its suggestions, the tags it gets.
import { ask, Away, isAway, onConnection } from "./api.js";
import { byId, el, fill, focus, isTyping, say } from "./dom.js";
import { keepDraft, onOutbox, openDraft, post, takeBack, unsent } from "./kept.js";
import { rest, whole } from "./later.js";
import { modelId, modelPath, namesIn, session } from "./session.js";
import { openFile, textPart } from "./texts.js";
import { current, t } from "./words.js";
import * as steps from "./work.js";

const K = 12; // suggestions at first, and that many more at a time
const MOST = 96;
const parts = {};
let work = steps.fresh();
let selected = "";
let asking = null;
let adding = null;
let error = "";

const labels = () => work.suggested?.labels ?? [];
const inOrder = () => rest.inGroups(labels());

export async function openWork() {
  work = (await openDraft()) ?? work;
}

export const hasWork = () => steps.hasText(work) || work.chosen.length > 0;

// Every change goes through here: kept first, shown then.
function set(next, ...which) {
  work = next;
  if (!keepDraft(work, !hasWork())) say(t("no.room"));
  for (const one of which) draw[one]?.();
}

// Also without the rest: then it is the field for a text, and whatever is done there counts.
export function tagView(main) {
  if (!isShown() || parts.language !== current()) frame(main);
  if (rest && !isWhole()) complete();
  for (const one of Object.values(draw)) one();
  const isOther = work.suggested && (work.suggested.names !== namesIn() || (work.model !== modelId() && !work.chosen.length));
  if (session.model && (work.asked || (isOther && !work.editing))) suggest();
}

const isShown = () => parts.text?.isConnected ?? false;
export const isWhole = () => Boolean(parts.exporting);

function frame(main) {
  parts.language = current();
  parts.records = el("div");
  parts.text = el("section", { className: "text", "aria-labelledby": "text-title" });
  parts.suggestions = el("section", { className: "suggestions", "aria-labelledby": "suggestions-title", "aria-busy": "false" });
  parts.chosen = el("div");
  parts.save = el("div", { className: "save" });
  parts.exporting = null;
  parts.saved = el("div");
  const title = el("h2", { id: "chosen-title" }, t("chosen.title"));
  const tags = el("section", { className: "tags", "aria-labelledby": "chosen-title" }, title, parts.chosen, parts.save, parts.saved);
  fill(main, parts.records, el("div", { className: "columns" }, parts.text, parts.suggestions, tags));
}

function complete() {
  selected ||= inOrder()[0]?.id ?? "";
  parts.exporting = rest.exportPart(() => ({ work, model: session.model, language: namesIn() || session.model?.language }));
  adding = rest.combobox({
    model: modelId,
    language: namesIn,
    isChosen: (id) => steps.stateOf(work, id) === "accepted",
    onPick: (label) => {
      const isThere = steps.stateOf(work, label.id) === "accepted";
      set(steps.add(work, label), "suggestions", "chosen");
      say(t(isThere ? "added.before" : "added", { name: label.name }));
    },
  });
  parts.chosen.after(adding.element);
  parts.save.after(parts.exporting.element);
}

const draw = {
  records() {
    if (!isWhole()) return;
    const onClose = () => set({ ...work, record: null, given: [] }, "records", "suggestions", "chosen");
    fill(parts.records, rest.recordsPart(work.record, { onOpen: openRecord, onClose }));
  },
  text() {
    const label = labels().find(({ id }) => id === selected);
    const marks = (text, field) => (isWhole() && label ? rest.marked(text, rest.spansIn(label.evidence ?? [], field)) : text);
    textPart(parts.text, work, {
      marks,
      examples: session.details?.examples ?? [],
      onType: (values) => set({ ...work, ...values }),
      onText: start,
      onCatalogue: startCatalogue,
      onTag: suggest,
      onEdit: edit,
      onNew: startAgain,
    });
  },
  suggestions() {
    const shown = (label) =>
      rest.suggestion(label, work, {
        selected: label.id === selected,
        onSelect: () => select(label.id),
        onAccept: () => decide(label, "accept"),
        onReject: () => decide(label, "reject"),
        onCopy: (as) => rest.copyLabel(label, as, { model: session.model, language: namesIn() }),
      });
    const title = el("h2", { id: "suggestions-title" }, t("suggestions.title"));
    parts.suggestions.setAttribute("aria-busy", String(Boolean(asking)));
    fill(
      parts.suggestions,
      title,
      status(),
      (isWhole() ? rest.groups(labels()) : []).flatMap((group, place) => [
        group.isNew ? [el("h3", {}, t("new.title")), el("p", { className: "quiet" }, t("new.why"))] : place ? el("h3", {}, t("used.title")) : null,
        el("ol", { className: "list", "aria-label": t(group.isNew ? "new.title" : "used.title") }, group.labels.map(shown)),
      ].flat()),
      hasMore() ? el("p", {}, el("button", { type: "button", "data-f": "more", disabled: Boolean(asking), onclick: more }, t("more"))) : null,
    );
  },
  chosen() {
    if (!isWhole()) return;
    const { given = [] } = work;
    fill(
      parts.chosen,
      given.length ? el("p", { className: "given" }, t("given.title"), " ", el("bdi", {}, given.map(({ name }) => name).join(", "))) : null,
      rest.chosenList(work, {
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
        onCopy: (label) => rest.copied(label.name),
      }),
    );
    fill(parts.save, rest.savePart(work, { onComplete: (complete) => set({ ...work, complete }), onSave: save, onUndo: undo }));
    parts.exporting.refresh();
    const wasOpen = parts.saved.querySelector("details")?.open ?? false;
    fill(parts.saved, rest.savedPart(wasOpen, back));
  },
};

function status() {
  if (error) return el("p", { className: "problem", role: "alert" }, error);
  if (asking) return el("p", { className: "quiet" }, el("span", { className: "busy" }), t("suggestions.busy"));
  if (work.asked && isAway()) return el("p", { className: "quiet" }, t("suggestions.later"));
  if (!work.suggested) return el("p", { className: "quiet" }, t("suggestions.before"));
  return labels().length ? null : el("p", { className: "quiet" }, t("suggestions.none"));
}

async function back(key) {
  try {
    await takeBack(key);
    await rest.forget(key);
    if (isShown()) draw.records();
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
  if (file) openFile(file, { onText: start, onCatalogue: startCatalogue });
  else if (text.trim()) start({ text });
}

async function startCatalogue(file) {
  const { openCatalogue } = await whole;
  const first = await openCatalogue(file);
  if (first) openRecord(first);
}

// A record of the catalogue file, with what was chosen for it before. What is chosen for the one at hand is kept.
function openRecord(one) {
  const { chosenFor, keepChosen, recordOf } = rest;
  if (work.record !== null && recordOf(work.record)) keepChosen(work.record, { ...chosenFor(work.record), chosen: work.chosen });
  const labels = one.subjects.map(({ label }) => label).filter(Boolean);
  const given = [...new Map(labels.map((label) => [label.id, label])).values()];
  const { chosen } = chosenFor(one.number);
  set({ ...steps.fresh(), model: modelId(), title: one.title, text: one.text, documentId: one.document_id, record: one.number, given, chosen });
  for (const part of Object.values(draw)) part();
  suggest();
}

export function openQueued(one) {
  work = { ...steps.fresh(), model: modelId(), title: one.title, text: one.text, documentId: one.document_id, queued: one.id, asked: true, editing: false };
  keepDraft(work, false);
  location.hash = "#/";
}

async function suggest() {
  if (!steps.hasText(work)) return;
  if (!session.model) {
    set({ ...work, asked: true }); // the view asks when there is one
    return;
  }
  asking?.abort();
  const own = (asking = new AbortController());
  error = "";
  const { key } = work;
  set({ ...work, model: modelId(), asked: true, editing: false }, "text", "suggestions");
  const names = namesIn();
  const explain = session.model.method === "tagger";
  try {
    const json = { text: work.text, title: work.title, k: work.k || K, explain, language: names };
    const { documents, version } = await ask(modelPath("/tag"), { method: "POST", json, signal: own.signal });
    const { inGroups } = await whole;
    if (work.key !== key || asking !== own) return;
    const found = [...documents[0].labels, ...documents[0].new_labels];
    asking = null;
    const before = new Set(labels().map(({ id }) => id));
    const isMore = work.k > K && before.size < found.length;
    selected = (inGroups(found).find(({ id }) => !isMore || !before.has(id)) ?? found[0])?.id ?? "";
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

const hasMore = () => work.suggested && !work.editing && labels().length >= (work.k || K) && work.k < MOST;

function more() {
  if (!hasMore() || asking) return;
  work = { ...work, k: (work.k || K) + K };
  suggest();
}

// At the word that was double-clicked, if one was.
function edit(start, end) {
  asking?.abort();
  asking = null;
  error = "";
  set({ ...work, editing: true, asked: false }, "text", "suggestions");
  byId("text")?.focus();
  if (end !== undefined) byId("text")?.setSelectionRange(start, end);
}

function startAgain() {
  asking?.abort();
  asking = null;
  error = "";
  const old = work;
  set(steps.fresh(), "records", "text", "suggestions", "chosen");
  byId("text")?.focus();
  if (steps.hasText(old)) offerBack(old);
}

function offerBack(old) {
  const again = () => {
    asking?.abort();
    asking = null;
    set(old, "records", "text", "suggestions", "chosen");
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
  if (!steps.hasText(work) || !steps.isDecided(work)) return;
  const body = steps.decision(work);
  const beginning = (work.title || work.text).trim().slice(0, 60);
  const { queued, model, record, chosen } = work;
  const { chosenFor, keepChosen, nextOpen, nextQueued } = rest;
  let sent;
  try {
    sent = post(model || modelId(), body, { title: beginning, n: work.chosen.length });
  } catch {
    say(t("no.room"));
    return;
  }
  selected = "";
  say(t("saving"));
  const before = record === null ? null : chosenFor(record);
  if (before) await keepChosen(record, { chosen, key: body.key, saved: true });
  const next = before && nextOpen(record);
  set(steps.fresh(), "records", "text", "suggestions", "chosen");
  if (next) openRecord(next);
  else if (before) focus(parts.records, "records.write");
  else if (queued === null) byId("text")?.focus();
  await sent;
  if (before?.key) await takeBack(before.key); // this decision is in its place
  if (queued !== null) await nextQueued(queued);
  sayWhere(body, before && !next);
}

// Saved is said when the server has it on disk, not before.
function sayWhere({ key, accepted, added }, isLast) {
  const out = unsent().find((one) => one.body.key === key);
  const undoing = el("button", { type: "button", className: "small", onclick: () => back(key) }, t("back"));
  if (out?.problem) say(t("out.refused", { why: out.problem }));
  else say(t(out ? "saved.here" : "saved.done", { n: accepted.length + added.length }), " ", undoing, isLast ? ` ${t("records.over")}` : "");
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
  m: more,
  c: () => parts.exporting.copy(),
  s: save,
  e: () => edit(),
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
