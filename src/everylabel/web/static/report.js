// What the report says of a model, on the page about it: results by band, and the pictures. The report is a page of its own
// with styles that this one does not allow, so that texts and pictures are taken out of it.
import { ask, keyOf } from "./api.js";
import { el } from "./dom.js";
import { handOut } from "./exporting.js";
import { modelId, modelPath } from "./session.js";
import { t } from "./words.js";

const STYLE = /<style>[\s\S]*?<\/style>/g;
const SVG = /<svg [^>]*?aria-label="([^"]*)"[^>]*>[\s\S]*?<\/svg>/g;

export async function reportPart(table) {
  const response = await ask(modelPath("/report"), { whole: true });
  const text = await response.text();
  const drawn = [];
  const bare = text.replace(STYLE, "").replace(SVG, (svg, about) => `<img alt="${about}" data-n="${drawn.push(svg) - 1}">`);
  const page = new DOMParser().parseFromString(bare, "text/html");
  const rows = byBand(page);
  const title = page.querySelector("h1")?.textContent ?? "";
  const made = [...page.querySelectorAll("header dt")].find((one) => one.textContent === "report of")?.nextElementSibling?.textContent ?? "";
  return [
    el("h3", {}, t("report.title")),
    el("p", { className: "quiet" }, el("bdi", { lang: "en" }, [title, made].filter(Boolean).join(" · "))),
    rows.length ? [table(t("report.bands"), [t("report.band"), "F1@5", "R@10", "R@100"], rows), el("p", { className: "quiet" }, t("report.bands.why"))] : null,
    el("div", { className: "pictures" }, [...page.querySelectorAll("figure img[data-n]")].map((one) => picture(one, drawn[one.dataset.n]))),
    el("p", {}, whole(text)),
  ].flat();
}

// Of the model itself, which is the first row: a band after the other, three numbers each.
function byBand(page) {
  const all = page.querySelector("#by-band + div table");
  const bands = [...(all?.querySelectorAll("th.group b") ?? [])].map((one) => one.textContent);
  const numbers = [...(all?.querySelectorAll("tr.own td") ?? [])].map((one) => one.textContent);
  return bands.map((band, place) => [t(`band.${band}`), ...numbers.slice(3 * place, 3 * place + 3)]);
}

function picture({ alt, parentElement }, svg) {
  const named = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" stroke-linejoin="round" ');
  const image = el("img", { src: URL.createObjectURL(new Blob([named], { type: "image/svg+xml" })), alt, lang: "en" });
  image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
  const caption = parentElement.closest("figure").querySelector("figcaption")?.textContent;
  return el("figure", {}, image, caption ? el("figcaption", { className: "quiet", lang: "en" }, caption) : null);
}

// A link cannot send a key: where one is needed, the report is handed out as a file.
function whole(text) {
  if (!keyOf()) return el("a", { href: `api/${modelPath("/report")}` }, t("model.report"));
  const onclick = () => handOut(new Blob([text], { type: "text/html" }), `${modelId()}-report.html`);
  return el("button", { type: "button", "data-f": "report", onclick }, t("model.report"));
}
