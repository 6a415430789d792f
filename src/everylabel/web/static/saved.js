// What was saved lately, and what waits to be sent: each can be taken back.
import { el } from "./dom.js";
import { saved, unsent } from "./kept.js";
import { t, when } from "./words.js";

const SHOWN = 20;

export function savedPart(wasOpen, back) {
  const out = unsent();
  const entries = [...out.map((one) => ({ ...one, key: one.body.key, at: new Date(one.at).toISOString(), isOut: true })), ...saved().slice(0, SHOWN)];
  if (!entries.length) return null;
  const item = (one) =>
    el("li", {},
      el("span", {}, el("bdi", {}, one.shown.title), " ", el("span", { className: "quiet" }, `${t("tags", { n: one.shown.n })} · ${one.isOut ? (one.problem ? t("out.refused", { why: one.problem }) : t("out.waits")) : when(one.at)}`)),
      el("button", { type: "button", className: "small", "data-f": `back:${one.key}`, onclick: () => back(one.key), "aria-label": t("back.named", { name: one.shown.title }) }, t("back")));
  return el("details", { className: "saved", open: wasOpen || out.length > 0 }, el("summary", { "data-f": "saved" }, t("saved.lately", { n: entries.length })), el("ul", {}, entries.map(item)));
}
