// Tags in the formats of catalogues. Texts in, text out; `on` is the day as YYYY-MM-DD.
export const isAddress = (uri) => /^[a-z][a-z0-9+.-]*:[^\s<>"{}|\\^`]+$/i.test(uri ?? "");
const addressOf = (label) => (isAddress(label.uri) ? label.uri : "");
const day = (on) => on.replaceAll("-", "");
const confidence = (label) => (label.score === undefined || label.score === null ? "" : label.score.toFixed(4));
const xml = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

// 650 _7 with the vocabulary ($2) and the address ($0); 883 says which machine proposed it, how sure it was, and when.
// $8 links the two. A person has taken it: the process was in part a machine's (indicator 1).
function marcFields({ labels, source, on }) {
  return labels.flatMap((label, place) => {
    const link = `${place + 1}\\p`;
    const byMachine = confidence(label) !== "";
    const subject = [byMachine && ["8", link], ["a", label.name], ["2", source], addressOf(label) && ["0", addressOf(label)]];
    const made = [["8", link], ["a", "everylabel"], ["c", confidence(label)], ["d", day(on)]];
    return [
      { tag: "650", indicators: [" ", "7"], subfields: subject.filter(Boolean) },
      ...(byMachine ? [{ tag: "883", indicators: ["1", " "], subfields: made }] : []),
    ];
  });
}

const mnemonic = (text) => text.replace(/[{}$]/g, (sign) => ({ "{": "{lcub}", "}": "{rcub}", $: "{dollar}" })[sign]).replace(/\s+/g, " ");

const marc = (tags) =>
  marcFields(tags)
    .map(({ tag, indicators, subfields }) => {
      const both = indicators.map((one) => (one === " " ? "\\" : one)).join("");
      return `=${tag}  ${both}${subfields.map(([code, value]) => `$${code}${mnemonic(value)}`).join("")}`;
    })
    .join("\n");

function marcXml(tags) {
  const fields = marcFields(tags).map(({ tag, indicators, subfields }) => {
    const inner = subfields.map(([code, value]) => `    <subfield code="${code}">${xml(value)}</subfield>`).join("\n");
    return `  <datafield tag="${tag}" ind1="${indicators[0]}" ind2="${indicators[1]}">\n${inner}\n  </datafield>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<record xmlns="http://www.loc.gov/MARC21/slim">\n${fields.join("\n")}\n</record>`;
}

const literal = (text) => `"${text.replace(/[\\"\n\r\t]/g, (sign) => ({ "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t" })[sign])}"`;

// A label without an address is a word: dc:subject, as dcterms:subject is for things.
function turtle({ labels, document, language }) {
  const about = isAddress(document.id) ? `<${document.id}>` : "[]";
  const tag = /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(language ?? "") ? `@${language}` : "";
  const lines = [
    document.title && `dcterms:title ${literal(document.title)}`,
    ...labels.map((label) => (addressOf(label) ? `dcterms:subject <${addressOf(label)}>` : `dc:subject ${literal(label.name)}${tag}`)),
  ].filter(Boolean);
  const prefixes = "@prefix dc: <http://purl.org/dc/elements/1.1/> .\n@prefix dcterms: <http://purl.org/dc/terms/> .\n";
  return lines.length ? `${prefixes}\n${about} ${lines.join(" ;\n    ")} .` : prefixes;
}

const cell = (value) => (/[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);

function csv({ labels, document }) {
  const rows = labels.map((label) => [document.id, label.id, label.name, label.notation ?? "", addressOf(label), confidence(label)]);
  return [["document", "id", "name", "notation", "uri", "probability"], ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
}

function json({ labels, document, source, on }) {
  const tags = labels.map(({ id, name, notation, uri, score }) => ({ id, name, notation: notation ?? null, uri, probability: score ?? null }));
  return JSON.stringify({ document_id: document.id, title: document.title, vocabulary: source, date: on, labels: tags }, null, 2);
}

const braces = (text) => text.replace(/\s+/g, " ").replace(/[{}\\]/g, "").replace(/[&%$#_]/g, "\\$&");

function bibtex({ labels, document }) {
  const key = document.id.replace(/[^A-Za-z0-9:._-]+/g, "-").replace(/^-+|-+$/g, "") || "document";
  const title = document.title ? `  title = {${braces(document.title)}},\n` : "";
  return `@misc{${key},\n${title}  keywords = {${labels.map(({ name }) => braces(name)).join(", ")}}\n}`;
}

function ris({ labels, document }) {
  const line = (code, text) => `${code}  - ${text.replace(/\s+/g, " ")}`;
  const lines = [line("TY", "GEN"), document.title && line("TI", document.title), ...labels.map(({ name }) => line("KW", name)), "ER  - "];
  return lines.filter(Boolean).join("\r\n");
}

const names = ({ labels }) => labels.map(({ name }) => name).join("\n");

export const FORMATS = {
  marc: { write: marc, name: "MARC (.mrk)", suffix: "mrk", kind: "text/plain" },
  marcxml: { write: marcXml, name: "MARCXML", suffix: "xml", kind: "application/xml" },
  turtle: { write: turtle, name: "Turtle (dcterms:subject)", suffix: "ttl", kind: "text/turtle" },
  csv: { write: csv, name: "CSV", suffix: "csv", kind: "text/csv" },
  json: { write: json, name: "JSON", suffix: "json", kind: "application/json" },
  bibtex: { write: bibtex, name: "BibTeX", suffix: "bib", kind: "text/plain" },
  ris: { write: ris, name: "RIS", suffix: "ris", kind: "text/plain" },
  names: { write: names, name: "Text", suffix: "txt", kind: "text/plain" },
};
