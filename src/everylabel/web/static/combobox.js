// A field that finds labels of the whole vocabulary while somebody types, in any script. After the ARIA pattern: the focus
// stays in the field, aria-activedescendant tells which option is meant.
import { ask } from "./api.js";
import { el, fill } from "./dom.js";
import { t } from "./words.js";

const PAUSE = 80; // ms without a key before the server is asked
const MOST = 12;

export function combobox({ model, language, isChosen, onPick }) {
  let options = [];
  let active = -1;
  let timer = 0;
  let asking = null;
  const list = el("ul", { id: "add-options", role: "listbox", "aria-label": t("add.label"), hidden: true });
  const note = el("p", { className: "quiet", id: "add-note", role: "status" });
  const input = el("input", {
    id: "add",
    type: "text",
    dir: "auto",
    autocomplete: "off",
    spellcheck: false,
    role: "combobox",
    "data-f": "add",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": "add-options",
    placeholder: t("add.placeholder"),
  });

  function close() {
    options = [];
    active = -1;
    show();
  }

  function show() {
    fill(list, options.map(option));
    list.hidden = !options.length;
    input.setAttribute("aria-expanded", String(Boolean(options.length)));
    if (active < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", `add-${active}`);
    list.children[active]?.scrollIntoView({ block: "nearest" });
  }

  function option(label, place) {
    const about = [label.notation, label.documents ? t("used", { n: label.documents }) : t("band.unseen")].filter(Boolean);
    const props = {
      id: `add-${place}`,
      role: "option",
      "aria-selected": String(place === active),
      onmousedown: (event) => event.preventDefault(), // the focus stays in the field
      onclick: () => pick(label),
    };
    const mark = isChosen(label.id) ? el("span", { className: "check" }, "✓ ") : null;
    return el("li", props, el("bdi", {}, mark, label.name), " ", el("span", { className: "quiet" }, about.join(" · ")));
  }

  function pick(label) {
    input.value = "";
    note.textContent = "";
    close();
    onPick(label);
  }

  async function look() {
    asking?.abort();
    const prefix = input.value.trim();
    if (!prefix) {
      note.textContent = "";
      close();
      return;
    }
    asking = new AbortController();
    const query = new URLSearchParams({ prefix, limit: MOST, language: language() });
    try {
      const { labels } = await ask(`models/${encodeURIComponent(model())}/labels?${query}`, { signal: asking.signal });
      options = labels;
      active = labels.length ? 0 : -1;
      note.textContent = labels.length ? "" : t("add.none");
      show();
    } catch (error) {
      if (error.name === "AbortError") return;
      close();
      note.textContent = t("add.away");
    }
  }

  function later() {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE);
  }

  const moves = {
    ArrowDown: () => (options.length ? (active + 1) % options.length : -1),
    ArrowUp: () => (options.length ? (active - 1 + options.length) % options.length : -1),
  };
  input.addEventListener("input", later);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return; // the keys belong to the input method
    if (event.key in moves) {
      event.preventDefault();
      if (options.length) {
        active = moves[event.key]();
        show();
      } else look();
    } else if (event.key === "Enter" && active >= 0) {
      event.preventDefault();
      pick(options[active]);
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (options.length) close();
      else if (input.value) {
        input.value = "";
        note.textContent = "";
      } else input.blur();
    }
  });
  const label = el("label", { htmlFor: "add" }, t("add.label"));
  return { element: el("div", { className: "combobox" }, label, input, list, note), input };
}
