// The document at hand: its text, what was suggested, what was decided. Values alone, so that it can be kept and undone.
const MOST_STEPS = 100;

export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is not there without TLS
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const fresh = () => ({
  key: newKey(),
  model: "",
  title: "",
  text: "",
  documentId: "",
  queued: null, // its number in the review queue
  record: null, // its number in the catalogue file that is worked through
  given: [], // labels that the record has already
  k: 0, // how many suggestions were asked for
  editing: true,
  asked: false, // suggestions were asked for, and have not come
  suggested: null, // { labels, version } once they came
  chosen: [], // labels in the cataloguer's order
  rejected: [], // ids
  complete: true,
  past: [],
});

const isIn = (labels, id) => labels.some((label) => label.id === id);

export function stateOf(work, id) {
  if (isIn(work.given ?? [], id)) return "given";
  if (isIn(work.chosen, id)) return "accepted";
  return work.rejected.includes(id) ? "rejected" : "";
}

function step(work, chosen, rejected) {
  const past = [...work.past, { chosen: work.chosen, rejected: work.rejected }].slice(-MOST_STEPS);
  return { ...work, chosen, rejected, past };
}

const kept = ({ id, name, uri, notation, score }) => ({ id, name, uri, notation, score });
const without = (labels, id) => labels.filter((label) => label.id !== id);

export function accept(work, label) {
  if (stateOf(work, label.id) === "given") return work;
  if (isIn(work.chosen, label.id)) return step(work, without(work.chosen, label.id), work.rejected);
  return step(work, [...work.chosen, kept(label)], work.rejected.filter((id) => id !== label.id));
}

export function reject(work, label) {
  if (stateOf(work, label.id) === "given") return work;
  if (work.rejected.includes(label.id)) return step(work, work.chosen, work.rejected.filter((id) => id !== label.id));
  return step(work, without(work.chosen, label.id), [...work.rejected, label.id]);
}

export const add = (work, label) => (isIn(work.chosen, label.id) ? work : accept(work, label));

export function move(work, id, by) {
  const from = work.chosen.findIndex((label) => label.id === id);
  const to = from + by;
  if (from < 0 || to < 0 || to >= work.chosen.length) return work;
  const chosen = [...work.chosen];
  chosen.splice(to, 0, ...chosen.splice(from, 1));
  return step(work, chosen, work.rejected);
}

export function undo(work) {
  const last = work.past.at(-1);
  return last ? { ...work, ...last, past: work.past.slice(0, -1) } : work;
}

export const isDecided = (work) => work.chosen.length > 0 || work.rejected.length > 0 || (work.given ?? []).length > 0;

export const hasText = (work) => Boolean(work.text.trim() || work.title.trim());

// As the interface takes it. The same key is the same decision, however often it is sent.
export function decision(work) {
  const shown = new Set((work.suggested?.labels ?? []).map((label) => label.id));
  const ids = [...(work.given ?? []), ...work.chosen].map((label) => label.id);
  return {
    text: work.text,
    title: work.title,
    document_id: work.documentId,
    accepted: ids.filter((id) => shown.has(id)),
    added: ids.filter((id) => !shown.has(id)),
    rejected: work.rejected.filter((id) => shown.has(id)),
    complete: work.complete,
    key: work.key,
  };
}
