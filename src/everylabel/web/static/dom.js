// Elements of the page. Texts go in as texts, never as markup.
export const byId = (id) => document.getElementById(id);

// el("p", { className: "x", "aria-label": "y", onclick: f }, "text", other, null)
export function el(name, props = {}, ...children) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key in found && !key.includes("-") && key !== "list" && key !== "role") found[key] = value;
    else found.setAttribute(key, value === true ? "" : value);
  }
  found.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return found;
}

// New content in an element's place, with the focus where it was: what can have it is named by data-f.
export function fill(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.f : undefined;
  parent.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  if (focused !== undefined) focus(parent, focused);
}

export function focus(parent, name) {
  const found = [...parent.querySelectorAll("[data-f]")].find((one) => one.dataset.f === name && !one.disabled);
  found?.focus();
  return Boolean(found);
}

export function isTyping() {
  const here = document.activeElement;
  return Boolean(here?.matches("input, textarea, select") && here.isConnected);
}

// Said to those who see and to those who listen.
export function say(text, ...more) {
  byId("said").replaceChildren(text, ...more);
}
