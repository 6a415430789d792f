// The tags that a document gets: in the cataloguer's order, added by typing, saved.
import { el } from "./dom.js";
import { copySign, linked } from "./suggestions.js";
import { t } from "./words.js";
import { hasText, isDecided } from "./work.js";

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

export function savePart(work, { onComplete, onSave, onUndo }) {
  const complete = el("input", { type: "checkbox", id: "complete", "data-f": "complete", checked: work.complete });
  complete.addEventListener("change", () => onComplete(complete.checked));
  const can = hasText(work) && isDecided(work);
  return [
    el("p", {}, complete, " ", el("label", { htmlFor: "complete" }, t("complete"))),
    el("p", { className: "buttons" },
      el("button", { type: "button", className: "main", "data-f": "save", disabled: !can, onclick: onSave }, t("save")),
      el("button", { type: "button", "data-f": "undo", disabled: !work.past.length, onclick: onUndo }, t("undo"))),
  ];
}
