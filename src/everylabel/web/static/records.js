// A catalogue file that is worked through record by record. The file and what was chosen for each record are in this
// browser (IndexedDB) until the file is closed: the server keeps nothing of it.
import { ask, Away } from "./api.js";
import { el, say } from "./dom.js";
import { codeOf, handOut } from "./exporting.js";
import { isAddress } from "./exports.js";
import { modelPath, namesIn, session } from "./session.js";
import { t } from "./words.js";

const STORE = "records";
let file = null; // { name, data, records }
let done = {}; // by a record's number: { chosen, key, saved }
let isListed = false;

const opening = new Promise((resolve) => {
  try {
    const asked = indexedDB.open("everylabel", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE);
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => resolve(null);
  } catch {
    resolve(null);
  }
});

async function stored(mode, use) {
  const database = await opening;
  if (!database) return undefined;
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, mode);
    const asked = use(transaction.objectStore(STORE));
    transaction.oncomplete = () => resolve(asked.result);
    transaction.onabort = transaction.onerror = () => reject(transaction.error);
  });
}

async function keep(name, value) {
  try {
    if (await opening) await stored("readwrite", (store) => store.put(value, name));
    else say(t("no.room"));
  } catch {
    say(t("no.room"));
  }
}

export async function openKept() {
  try {
    file = (await stored("readonly", (store) => store.get("file"))) ?? null;
    done = (await stored("readonly", (store) => store.get("done"))) ?? {};
  } catch {
    file = null;
  }
}

// The first record that is not done, once the server has read the file; null if it could not.
export async function openCatalogue(opened) {
  if (file && file.records.some(({ number }) => done[number]?.saved) && !confirm(t("records.instead", { name: file.name }))) return null;
  say(t("file.busy", { name: opened.name }));
  try {
    const form = new FormData();
    form.set("file", opened, opened.name);
    const query = new URLSearchParams({ language: namesIn() });
    const { records, left_out: n } = await ask(modelPath(`/records?${query}`), { method: "POST", form });
    file = { name: opened.name, data: await opened.arrayBuffer(), records };
    done = {};
    await keep("file", file);
    await keep("done", done);
    say(n ? t("records.damaged", { n }) : "");
    return records[0];
  } catch (error) {
    say(error instanceof Away ? t("file.away", { name: opened.name }) : t("file.bad", { name: opened.name, why: error.message }));
    return null;
  }
}

const placeOf = (number) => file?.records.findIndex((one) => one.number === number) ?? -1;
export const recordOf = (number) => file?.records[placeOf(number)] ?? null;
export const chosenFor = (number) => done[number] ?? { chosen: [], key: "", saved: false };

// What was chosen for a record; the key of its decision, if that was saved.
export async function keepChosen(number, entry) {
  if (!recordOf(number)) return;
  done = { ...done, [number]: entry };
  await keep("done", done);
}

export async function forget(key) {
  const [number, entry] = Object.entries(done).find(([, one]) => one.key === key) ?? [];
  if (number) await keepChosen(Number(number), { ...entry, key: "", saved: false });
}

// The next one that waits: after this, else from the first.
export function nextOpen(number) {
  const at = placeOf(number);
  const waits = (one) => !done[one.number]?.saved;
  return file?.records.slice(at + 1).find(waits) ?? file?.records.find(waits) ?? null;
}

export function recordsPart(number, { onOpen, onClose }) {
  if (!file) return null;
  const { records } = file;
  const at = placeOf(number);
  const n = records.filter((one) => done[one.number]?.saved).length;
  const step = (name, place) => el("button", { type: "button", "data-f": name, disabled: !records[place], onclick: () => onOpen(records[place]) }, t(name));
  const entry = (one) => {
    const { chosen, saved } = chosenFor(one.number);
    const mark = saved ? `✓ ${t("tags", { n: chosen.length })}` : "";
    const props = { type: "button", className: "name", "data-f": `record:${one.number}`, "aria-current": one.number === number ? "true" : null, onclick: () => onOpen(one) };
    return el("li", {}, el("button", props, el("bdi", {}, one.title || one.document_id)), " ", el("span", { className: "quiet" }, mark));
  };
  const list = el("div", {}, isListed ? el("ol", {}, records.map(entry)) : null);
  const all = el("details", { open: isListed }, el("summary", { "data-f": "records" }, t("records.all")), list);
  all.addEventListener("toggle", () => {
    if (all.open === isListed) return;
    isListed = all.open;
    list.replaceChildren(...(isListed ? [el("ol", {}, records.map(entry))] : []));
  });
  return el("section", { className: "records", "aria-labelledby": "records-title" },
    el("h2", { id: "records-title" }, el("bdi", {}, file.name)),
    el("p", { className: "state" }, at < 0 ? "" : `${t("records.at", { at: at + 1, n: records.length })} · `, t("records.done", { n })),
    el("p", { className: "buttons" },
      step("records.before", at - 1),
      step("records.next", at + 1),
      el("button", { type: "button", className: n === records.length ? "main" : "", "data-f": "records.write", disabled: !n, onclick: write }, t("records.write")),
      el("button", { type: "button", "data-f": "records.close", onclick: () => close(onClose) }, t("close"))),
    all);
}

const subject = ({ name, id, uri, score }) => ({ name, id, uri: isAddress(uri) ? uri : "", probability: score ?? null });

async function write() {
  const saved = Object.entries(done).filter(([, one]) => one.saved);
  const records = Object.fromEntries(saved.map(([number, { chosen }]) => [number, chosen.map(subject)]));
  const form = new FormData();
  form.set("file", new Blob([file.data]), file.name);
  form.set("subjects", JSON.stringify({ source: codeOf(session.model) || "local", records }));
  try {
    const answer = await ask("records", { method: "POST", form, whole: true });
    handOut(await answer.blob(), file.name.replace(/(\.[^.]+)$/, "-tagged$1"));
    const left = Number(answer.headers.get("Records-Left-Out"));
    say(t("records.written", { n: Number(answer.headers.get("Subjects-Added")) }), left ? ` ${t("records.full", { n: left })}` : "");
  } catch (error) {
    say(error instanceof Away ? t("away") : error.message);
  }
}

async function close(onClose) {
  if (!confirm(t("records.close.sure", { name: file.name }))) return;
  file = null;
  done = {};
  await keep("file", null);
  await keep("done", {});
  onClose();
}
