// The tags that a document gets: in the cataloguer's order, added by typing, saved.
import { el } from "./dom.js";
import { linked } from "./suggestions.js";
import { t } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

// Drawn, as few fonts have a sign for it.
function copySign() {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": "true" })) svg.setAttribute(name, value);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", "M5.5 5.5h8v8h-8zM10.5 5V2.5h-8v8H5");
  svg.append(path);
  return svg;
}

export function chosenList(work, { onMove, onRemove, onCopy }) {
  if (!work.chosen.length) return el("p", { className: "quiet" }, t("chosen.none"));
  return el("ol", { className: "chosen" }, work.chosen.map((label, place) => item(label, place, work.chosen.length, { onMove, onRemove, onCopy })));
}

function item(label, place, n, { onMove, onRemove, onCopy }) {
  const button = (what, sign, onclick, disabled = false) =>
    el(
      "button",
      { type: "button", className: "small", "data-f": `${what}:${label.id}`, disabled, onclick, title: t(`${what}.short`), "aria-label": t(what, { name: label.name }) },
      sign,
    );
  return el(
    "li",
    {},
    el("span", { className: "what" }, el("bdi", {}, label.name), " ", label.notation && el("span", { className: "notation" }, label.notation), linked(label)),
    el(
      "span",
      { className: "do" },
      button("up", "↑", () => onMove(label, -1), place === 0),
      button("down", "↓", () => onMove(label, 1), place === n - 1),
      button("copy", copySign(), () => onCopy(label)),
      button("remove", "✕", () => onRemove(label)),
    ),
  );
}
