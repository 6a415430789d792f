// Suggested labels as a list, and why each was suggested, in a sentence.
import { el } from "./dom.js";
import { listed, percent, t } from "./words.js";
import { stateOf } from "./work.js";

const MOST_WORDS = 6;
const SVG = "http://www.w3.org/2000/svg";
const isAddress = (uri) => /^https?:/.test(uri ?? "");

export function linked(label) {
  if (!isAddress(label.uri)) return null;
  const props = { href: label.uri, target: "_blank", rel: "noopener noreferrer", className: "uri" };
  return el("a", { ...props, "aria-label": t("open.uri", { name: label.name }) }, "↗");
}

// Drawn, as few fonts have a sign for it.
export function copySign() {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true", class: "sign" })) svg.setAttribute(name, value);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", "M5.5 5.5h8v8h-8zM10.5 5V2.5h-8v8H5");
  svg.append(path);
  return svg;
}

// Labels in two groups, in use and not used yet; the one with the surest label is first. Within each, the server's order.
export function groups(labels) {
  const both = [false, true].map((isNew) => ({ isNew, labels: labels.filter(({ band }) => (band === "unseen") === isNew) }));
  const best = ({ labels: [first] }) => first?.score ?? -1;
  return both.filter((one) => one.labels.length).sort((a, b) => best(b) - best(a));
}

export const inGroups = (labels) => groups(labels).flatMap((group) => group.labels);

export function suggestion(label, work, { selected, onSelect, onAccept, onReject, onCopy }) {
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
  const facts = [
    label.notation && el("span", { className: "notation" }, label.notation),
    label.path?.length ? el("span", { className: "path" }, el("span", { className: "hidden" }, `${t("broader")} `), el("bdi", {}, label.path.join(" › "))) : null,
    state === "given" && el("span", { className: "band" }, t("given")),
    label.band && el("span", { className: `band ${label.band}`, title: t(`band.${label.band}.why`) }, t(`band.${label.band}`)),
  ];
  return el(
    "li",
    { className: `suggestion ${state}${selected ? " selected" : ""}` },
    el("div", { className: "what" }, name),
    score,
    el(
      "div",
      { className: "do" },
      state === "given" ? null : [
        choice("accept", "✓", state === "accepted", label, onAccept),
        choice("reject", "✕", state === "rejected", label, onReject),
      ],
    ),
    el("div", { className: "about" },
      el("div", { className: "facts" }, facts, linked(label)),
      el("span", { className: "copies" }, copySign(), copies(label, onCopy))),
    selected ? el("p", { className: "why" }, why(label)) : null,
  );
}

// A label for another program: its name, its address, a field of MARC.
function copies(label, onCopy) {
  const button = (as) => el("button", { type: "button", className: "small", "data-f": `copy.${as}:${label.id}`, "aria-label": t(`copy.${as}.named`, { name: label.name }), onclick: () => onCopy(as) }, t(`copy.${as}`));
  return ["name", isAddress(label.uri) && "uri", "marc"].filter(Boolean).map(button);
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
