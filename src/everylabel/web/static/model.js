// A page about the model: what it knows, what it learned from people, how it was made, and what became of it.
import { ask } from "./api.js";
import { el, fill, say } from "./dom.js";
import { modelPath, session } from "./session.js";
import { percent, t, when } from "./words.js";

const BANDS = ["head", "middle", "tail", "unseen"];
const LOOK = 1500; // ms between two looks at a learning

export async function modelView(main) {
  const body = el("div", { "aria-busy": "true" }, el("p", { className: "quiet" }, t("busy")));
  fill(main, el("div", { className: "page" }, el("h2", { tabIndex: -1 }, t("model.title")), body));
  try {
    const details = await ask(modelPath());
    session.details = details;
    const learning = await optional("/learn");
    const report = el("div");
    fill(body, ...shown(details, learning, report, () => modelView(main)));
    if (details.has_report) await showReport(report);
  } catch (error) {
    fill(body, el("p", { className: "problem", role: "alert" }, error.message || t("away")));
  }
  body.setAttribute("aria-busy", "false");
}

async function showReport(part) {
  try {
    const { reportPart } = await import("./report.js"); // the first view does not wait for it
    fill(part, ...(await reportPart(table)));
  } catch (error) {
    fill(part, el("p", { className: "problem" }, error.message || t("away")));
  }
}

// What a key may not see, or a database that is away, is left out.
async function optional(path) {
  try {
    return await ask(modelPath(path));
  } catch {
    return null;
  }
}

const table = (caption, head, rows) =>
  el("div", { className: "scroll", tabIndex: 0, role: "group", "aria-label": caption },
    el("table", {}, el("caption", {}, caption),
      head ? el("thead", {}, el("tr", {}, head.map((one) => el("th", { scope: "col" }, one)))) : null,
      el("tbody", {}, rows.map(([first, ...rest]) => el("tr", {}, el("th", { scope: "row" }, first), rest.map((one) => el("td", {}, one)))))));

function shown(details, learning, report, again) {
  const number = (value) => t("number", { value });
  const facts = [
    [t("model.name"), details.name],
    [t("model.labels"), number(details.labels)],
    [t("model.documents"), number(details.documents)],
    [t("model.version"), number(details.version)],
    [t("model.since"), when(details.since)],
    [t("model.modified"), when(details.modified)],
    [t("model.learned"), number(details.learned)],
    [t("model.due"), details.refit_due || t("model.due.no")],
    ...(details.refused ? [[t("model.refused"), details.refused]] : []),
  ];
  const counts = details.decisions && Object.entries(details.decisions).map(([name, n]) => [t(`count.${name}`), number(n)]);
  return [
    table(t("model.facts"), null, facts),
    counts ? table(t("model.decisions"), null, counts) : el("p", { className: "quiet" }, t("model.no.store")),
    learning ? learningPart(details, learning, again) : null,
    details.results && !details.has_report ? measured(details.results) : null,
    report,
    details.plan.length ? [el("h3", {}, t("model.plan")), el("pre", { tabIndex: 0 }, details.plan.join("\n"))] : null,
    details.history.length ? table(t("model.history"), [t("when"), t("what"), t("about")], details.history.map(event)) : null,
    details.versions.length ? table(t("model.versions"), [t("when"), t("what"), t("about")], details.versions.map(event)) : null,
  ].flat();
}

// By the last evaluation; a report says the same, and more.
function measured({ at, data, split, documents, bands }) {
  const shown = ["F1@5", "R@10", "R@100"];
  const cell = (value) => (typeof value === "number" ? percent(value) : "-");
  const rows = BANDS.filter((band) => band in bands).map((band) => [t(`band.${band}`), ...shown.map((name) => cell(bands[band][name]))]);
  return [
    el("h3", {}, t("report.title")),
    el("p", { className: "quiet" }, el("bdi", {}, `${data}, ${split}`), ` · ${t("used", { n: documents })} · ${when(at)}`),
    table(t("report.bands"), [t("report.band"), ...shown], rows),
    el("p", { className: "quiet" }, t("report.bands.why")),
  ];
}

function event({ when: at, at: also, what, change, version, ...rest }) {
  const about = Object.entries(rest)
    .filter(([, value]) => value !== null && typeof value !== "object")
    .map(([name, value]) => `${name} ${typeof value === "number" ? t("number", { value }) : value}`);
  return [when(at ?? also ?? ""), what ?? change ?? (version === undefined ? "" : `${version}`), about.join(", ")];
}

function learningPart(details, learning, again) {
  const outcome = learning.last ? Object.entries(learning.last).filter(([, value]) => value !== null && typeof value !== "object") : [];
  const learn = async () => {
    try {
      await ask(modelPath("/learn"), { method: "POST" });
      say(t("learn.begun"));
      await watch(again);
    } catch (error) {
      say(error.message);
    }
  };
  const can = details.allow_learn && learning.waiting > 0 && learning.state === "idle";
  return [
    el("h3", {}, t("learn.title")),
    el("p", {}, details.allow_learn ? t("learn.waiting", { n: learning.waiting }) : t("learn.off")),
    details.allow_learn ? el("p", {}, el("button", { type: "button", "data-f": "learn", disabled: !can, onclick: learn }, t("learn.now"))) : null,
    learning.error ? el("p", { className: "problem" }, learning.error) : null,
    outcome.length ? table(t("learn.last"), null, outcome.map(([name, value]) => [name, `${value}`])) : null,
  ];
}

async function watch(again) {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK));
    const found = await optional("/learn");
    if (!location.hash.startsWith("#/model")) return;
    if (!found || found.state === "idle") break;
  }
  say(t("learn.done"));
  await again();
}
