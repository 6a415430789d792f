// Evidence in the text. The interface counts code points, JavaScript counts halves of those beyond U+FFFF.
import { el } from "./dom.js";

// Positions in code points to positions in the string, in one pass.
export function inString(text, points) {
  const sorted = [...new Set(points)].sort((a, b) => a - b);
  const found = new Map();
  let at = 0;
  let point = 0;
  for (const wanted of sorted) {
    while (point < wanted && at < text.length) {
      at += text.codePointAt(at) > 0xffff ? 2 : 1;
      point += 1;
    }
    found.set(wanted, at);
  }
  return found;
}

// The spans of a field, words before passages: [{ start, end, kind }].
export function spansIn(evidence, field) {
  return evidence.flatMap((item) => {
    const spans = item.field === field || (field === "text" && !item.field) ? (item.spans ?? []) : (item.other_fields?.[field] ?? []);
    return spans.map(([start, end]) => ({ start, end, kind: item.kind === "passage" ? "passage" : "word" }));
  });
}

// The text as nodes, with <mark> where evidence stands; a word within a passage is a word.
export function marked(text, spans) {
  const places = inString(text, spans.flatMap(({ start, end }) => [start, end]));
  const edges = [...new Set([0, text.length, ...places.values()])].sort((a, b) => a - b);
  const nodes = [];
  for (let i = 0; i + 1 < edges.length; i += 1) {
    const part = text.slice(edges[i], edges[i + 1]);
    const kinds = spans
      .filter(({ start, end }) => places.get(start) <= edges[i] && edges[i + 1] <= places.get(end))
      .map(({ kind }) => kind);
    if (!kinds.length) nodes.push(part);
    else nodes.push(el("mark", { className: kinds.includes("word") ? "word" : "passage" }, part));
  }
  return nodes;
}
