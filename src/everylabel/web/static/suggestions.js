// Suggested labels as a list, and why each was suggested, in a sentence.
import { el } from "./dom.js";
import { listed, percent, t } from "./words.js";
import { stateOf } from "./work.js";

const MOST_WORDS = 6;
const isAddress = (uri) => /^https?:/.test(uri ?? "");

export function linked(label) {
  if (!isAddress(label.uri)) return null;
  const props = { href: label.uri, target: "_blank", rel: "noopener noreferrer", className: "uri" };
  return el("a", { ...props, "aria-label": t("open.uri", { name: label.name }) }, "↗");
}

// Labels in two groups, in use and not used yet; the one with the surest label is first. Within each, the server's order.
export function groups(labels) {
  const both = [false, true].map((isNew) => ({ isNew, labels: labels.filter(({ band }) => (band === "unseen") === isNew) }));
  const best = ({ labels: [first] }) => first?.score ?? -1;
  return both.filter((one) => one.labels.length).sort((a, b) => best(b) - best(a));
}

export const inGroups = (labels) => groups(labels).flatMap((group) => group.labels);

export function suggestion(label, work, { selected, onSelect, onAccept, onReject }) {
  const state = stateOf(work, label.id);
  const name = el(
    "button",
    { type: "button", className: "name", "data-f": `s:${label.id}`, "aria-expanded": String(selected), onclick: onSelect },
    el("bdi", {}, label.name),
  );
  const score = el(
    "span",
    { className: "score" },
    el("meter", { min: 0, max: 1, value: label.score, "aria-label": t("probability") }),
    el("span", { className: "number" }, percent(label.score)),
  );
  const about = [
    label.notation && el("span", { className: "notation" }, label.notation),
    label.path?.length ? el("span", { className: "path" }, el("span", { className: "hidden" }, `${t("broader")} `), el("bdi", {}, label.path.join(" › "))) : null,
    label.band && el("span", { className: `band ${label.band}`, title: t(`band.${label.band}.why`) }, t(`band.${label.band}`)),
  ];
  return el(
    "li",
    { className: `suggestion ${state}${selected ? " selected" : ""}` },
    el("div", { className: "what" }, el("div", { className: "head" }, name, linked(label)), el("div", { className: "about" }, about)),
    score,
    el(
      "div",
      { className: "do" },
      choice("accept", "✓", state === "accepted", label, onAccept),
      choice("reject", "✕", state === "rejected", label, onReject),
    ),
    selected ? el("p", { className: "why" }, why(label)) : null,
  );
}

function choice(what, sign, pressed, label, onclick) {
  const props = { type: "button", className: what, "data-f": `${what}:${label.id}`, "aria-pressed": String(pressed), onclick };
  return el("button", { ...props, "aria-label": t(what, { name: label.name }), title: t(`${what}.short`) }, sign);
}

export function why(label) {
  const evidence = label.evidence ?? [];
  const texts = (...kinds) => [...new Set(evidence.filter(({ kind }) => kinds.includes(kind)).map(({ text }) => text))];
  const told = [
    ["why.words", texts("words", "keywords").slice(0, MOST_WORDS)],
    ["why.passage", texts("passage").slice(0, 1)],
    ["why.made", texts("made of").slice(0, MOST_WORDS)],
    ["why.documents", texts("document").slice(0, 3)],
  ].filter(([, found]) => found.length);
  if (!told.length) return t("why.none");
  return told.map(([name, found]) => t(name, { found: listed(found) })).join(" ");
}
