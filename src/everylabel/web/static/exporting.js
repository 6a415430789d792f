// The part of the page that hands tags out: a format, how it looks, copy and download.
import { el, say } from "./dom.js";
import { FORMATS } from "./exports.js";
import { t } from "./words.js";

const FORMAT = "everylabel.format";

const sourceKey = (model) => `everylabel.source.${model?.id ?? ""}`;

// The code of the vocabulary: what was typed here before, else the project's.
export const codeOf = (model) => localStorage.getItem(sourceKey(model)) ?? model?.vocab ?? "";

export function exportPart(current) {
  const format = el("select", { id: "format" }, Object.entries(FORMATS).map(([id, { name }]) => el("option", { value: id }, name)));
  const source = el("input", { id: "source", type: "text", autocomplete: "off", maxLength: 40, value: "" });
  const preview = el("textarea", { id: "preview", readOnly: true, rows: 6, dir: "ltr", spellcheck: false, "aria-label": t("export.preview") });
  const copy = el("button", { type: "button", onclick: () => copied(preview.value, preview) }, t("export.copy"));
  const save = el("button", { type: "button", onclick: download }, t("export.download"));
  const sourceLine = el("p", {}, el("label", { htmlFor: "source" }, t("export.source")), source);
  format.value = localStorage.getItem(FORMAT) in FORMATS ? localStorage.getItem(FORMAT) : "marc";
  format.addEventListener("change", () => {
    localStorage.setItem(FORMAT, format.value);
    refresh();
  });
  source.addEventListener("input", () => {
    localStorage.setItem(sourceKey(current().model), source.value);
    write();
  });

  function refresh() {
    const { model, work } = current();
    source.value = codeOf(model);
    sourceLine.hidden = !["marc", "marcxml", "json"].includes(format.value);
    for (const one of [copy, save]) one.disabled = !work.chosen.length;
    write();
  }

  function write() {
    const { work, language } = current();
    const document = { id: work.documentId, title: work.title };
    const on = new Date().toISOString().slice(0, 10);
    preview.value = work.chosen.length ? FORMATS[format.value].write({ labels: work.chosen, document, source: source.value, language, on }) : "";
  }

  function download() {
    const { suffix, kind } = FORMATS[format.value];
    const name = current().work.documentId.replace(/\.[a-z0-9]+$/i, "").replace(/[^\p{L}\p{N}._-]+/gu, "-") || "tags";
    handOut(new Blob([preview.value, "\n"], { type: kind }), `${name}.${suffix}`);
  }

  const element = el("details", { className: "export" },
    el("summary", { "data-f": "export" }, t("export.title")),
    el("p", {}, el("label", { htmlFor: "format" }, t("export.format")), format),
    sourceLine,
    preview,
    el("p", { className: "buttons" }, copy, save));
  return { element, refresh, copy: () => (preview.value ? copied(preview.value) : say(t("chosen.none"))) };
}

export function handOut(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

// One label, as a cataloguer's other program takes it.
export function copyLabel(label, as, { model, language }) {
  const on = new Date().toISOString().slice(0, 10);
  const marc = () => FORMATS.marc.write({ labels: [label], document: {}, source: codeOf(model), language, on });
  copied({ name: () => label.name, uri: () => label.uri, marc }[as]());
}

// The clipboard is only there with TLS or on this machine; else what is to be copied is selected and copied as by hand.
export async function copied(text, field = null) {
  try {
    await navigator.clipboard.writeText(text);
    say(t("copied"));
  } catch {
    const own = field ?? document.body.appendChild(el("textarea", { value: text, "aria-hidden": "true" }));
    own.select();
    say(t(document.execCommand("copy") ? "copied" : "copied.not"));
    if (!field) own.remove();
  }
}
