// The page's own words in four languages, and numbers and lists as they are written there.
export const LANGUAGES = { en: "English", de: "Deutsch", fi: "Suomi", fr: "Français" };
let words = {};
let language = "en";

export const current = () => language;

export function preferred() {
  const wanted = [localStorage.getItem("everylabel.language"), ...navigator.languages].filter(Boolean);
  return wanted.map((one) => one.slice(0, 2).toLowerCase()).find((one) => one in LANGUAGES) ?? "en";
}

export async function speak(wanted) {
  const response = await fetch(`static/words-${wanted}.json`);
  if (!response.ok) throw new Error(response.statusText);
  words = await response.json();
  language = wanted;
  document.documentElement.lang = wanted;
  for (const one of document.querySelectorAll("[data-t]")) one.textContent = t(one.dataset.t);
  for (const one of document.querySelectorAll("[data-t-label]")) one.setAttribute("aria-label", t(one.dataset.tLabel));
}

// t("saved", { n: 3 }): "{n} tags" with its values; "saved.one" is taken where the language has one for the number.
export function t(name, values = {}) {
  const form = "n" in values ? `${name}.${new Intl.PluralRules(language).select(values.n)}` : name;
  const found = words[form] ?? words[name] ?? name;
  return found.replace(/\{(\w+)\}/g, (whole, key) => {
    const value = values[key];
    if (value === undefined) return whole;
    return typeof value === "number" ? new Intl.NumberFormat(locale()).format(value) : value;
  });
}

// As the reader's own country writes it, where it speaks the page's language.
const locale = () => navigator.languages.find((one) => one.slice(0, 2).toLowerCase() === language) ?? language;

export const percent = (value) =>
  new Intl.NumberFormat(locale(), { style: "percent", maximumFractionDigits: value > 0 && value < 0.1 ? 1 : 0 }).format(value);

export const listed = (texts) =>
  new Intl.ListFormat(locale(), { type: "conjunction" }).format(texts.map((text) => t("quoted", { text })));

export function when(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  return new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" }).format(date);
}
