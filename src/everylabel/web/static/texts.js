// The text of a document: typed, pasted, dropped, opened, or one of the examples; then read with its evidence marked.
import { ask, Away } from "./api.js";
import { el, fill, say } from "./dom.js";
import { t } from "./words.js";
import { hasText } from "./work.js";

const CATALOGUES = ".mrc,.marc,.iso2709,.xml,.marcxml,.mrcx,.ris,.bib,.bibtex,.dc,.dcxml";
const KINDS = `.txt,.md,.pdf,.docx,.odt,.epub,.html,.htm,${CATALOGUES}`;
const PLAIN = /\.(txt|md)$/i;
const isCatalogue = ({ name }) => CATALOGUES.split(",").some((end) => name.toLowerCase().endsWith(end));

export function textPart(parent, work, on) {
  if (work.editing && hasText(work) && isTyped(parent, work)) return;
  const title = el("h2", { id: "text-title" }, t("text.title"));
  fill(parent, title, ...(work.editing ? editing(work, on) : reading(work, on)));
}

// Fields that have it already stay as they are: somebody may be typing there while the rest of the page comes.
const isTyped = (parent, { title, text }) => parent.querySelector("#title")?.value === title && parent.querySelector("#text")?.value === text;

function editing(work, on) {
  const heading = el("input", { id: "title", type: "text", dir: "auto", value: work.title, "data-f": "title", maxLength: 20000, autocomplete: "off" });
  const text = el("textarea", { id: "text", dir: "auto", rows: 10, value: work.text, "data-f": "text", placeholder: t("text.placeholder"), spellcheck: false });
  const tag = el("button", { type: "button", className: "main", "data-f": "tag", onclick: on.onTag, "aria-keyshortcuts": "Control+Enter" }, t("tag"));
  const said = () => on.onType({ title: heading.value, text: text.value });
  heading.addEventListener("input", said);
  text.addEventListener("input", said);
  text.addEventListener("paste", (event) => {
    const pasted = event.clipboardData?.getData("text/plain");
    if (!pasted?.trim() || text.value.trim()) return;
    event.preventDefault(); // an empty field that gets a whole text: nothing else is to be done with it
    on.onText({ title: heading.value, text: pasted });
  });
  for (const one of [heading, text]) {
    one.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) on.onTag();
    });
  }
  const file = el("input", { type: "file", id: "file", accept: KINDS, className: "hidden", tabIndex: -1, "aria-label": t("open") });
  file.addEventListener("change", () => file.files[0] && openFile(file.files[0], on));
  return [
    el("p", {}, el("label", { htmlFor: "title" }, t("title")), heading),
    el("p", {}, el("label", { htmlFor: "text" }, t("text")), text),
    el("p", { className: "buttons" }, tag, el("button", { type: "button", "data-f": "open", onclick: () => file.click() }, t("open")), file, el("span", { className: "quiet" }, t("drop"))),
    on.examples.length && !work.text.trim() ? examples(on) : null,
  ];
}

function examples(on) {
  const button = (example, place) => {
    const { title, text } = parted(example);
    return el("li", {}, el("button", { type: "button", "data-f": `example:${place}`, onclick: () => on.onText({ title, text }) }, el("bdi", {}, title || text.slice(0, 60))));
  };
  return el("div", { className: "examples" }, el("h3", {}, t("examples")), el("ul", {}, on.examples.map(button)));
}

function parted(example) {
  const [title, ...rest] = example.split("\n");
  return rest.length ? { title, text: rest.join("\n") } : { title: "", text: example };
}

function reading(work, on) {
  const body = el("div", { className: "body", dir: "auto" }, on.marks(work.text, "text"));
  body.addEventListener("dblclick", () => on.onEdit(...selectedIn(body)));
  return [
    el("p", { className: "buttons" },
      el("button", { type: "button", "data-f": "edit", onclick: () => on.onEdit() }, t("edit")),
      el("button", { type: "button", "data-f": "new", onclick: on.onNew }, t("new.text"))),
    el("div", { className: "read", tabIndex: 0, role: "group", "aria-label": t("text") },
      work.title ? el("p", { className: "title", dir: "auto" }, on.marks(work.title, "title")) : null,
      body),
  ];
}

// Where in the text the word is that was double-clicked: it is what shall be corrected.
function selectedIn(body) {
  const selection = getSelection();
  if (!selection.rangeCount || !body.contains(selection.anchorNode)) return [];
  const range = selection.getRangeAt(0);
  const before = document.createRange();
  before.setStart(body, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const start = before.toString().length;
  return [start, start + range.toString().trimEnd().length];
}

export async function openFile(file, on) {
  if (isCatalogue(file)) {
    await on.onCatalogue(file);
    return;
  }
  say(t("file.busy", { name: file.name }));
  try {
    const found = PLAIN.test(file.name) ? await plain(file) : null;
    const { title, text } = found ?? (await parsed(file));
    if (!text.trim()) {
      say(t("file.empty", { name: file.name }));
      return;
    }
    say("");
    on.onText({ title, text, documentId: file.name });
  } catch (error) {
    say(error instanceof Away ? t("file.away", { name: file.name }) : t("file.bad", { name: file.name, why: error.message }));
  }
}

// A text of this kind is read here, so that it can be opened while the server is away; null: the server shall try.
async function plain(file) {
  if (/\.md$/i.test(file.name)) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return { title: "", text: text.replaceAll("\0", " ") };
  } catch {
    return null;
  }
}

function parsed(file) {
  const form = new FormData();
  form.set("file", file, file.name);
  return ask("text", { method: "POST", form });
}
