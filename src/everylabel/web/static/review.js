// The review queue: documents whose tags are least certain, first.
import { ask } from "./api.js";
import { el, fill, say } from "./dom.js";
import { modelPath } from "./session.js";
import { hasWork, openQueued } from "./tag.js";
import { percent, t } from "./words.js";

const MOST = 50;
let typed = ""; // kept where the view is drawn again
const SHOWN = 200; // characters of a text

const queue = async (limit) => (await ask(modelPath(`/review?limit=${limit}`))).documents;

export async function reviewView(main) {
  const title = el("h2", { tabIndex: -1 }, t("review.title"));
  const list = el("div", { "aria-busy": "true" }, el("p", { className: "quiet" }, t("busy")));
  fill(main, el("div", { className: "page" }, title, el("p", {}, t("review.about")), list, adding(() => draw())));

  async function draw() {
    try {
      const documents = await queue(MOST);
      fill(list, documents.length ? el("ol", { className: "queue" }, documents.map((one) => item(one, draw))) : el("p", { className: "quiet" }, t("review.none")));
    } catch (error) {
      fill(list, el("p", { className: "problem", role: "alert" }, error.message || t("away")));
    }
    list.setAttribute("aria-busy", "false");
  }
  await draw();
}

function item(one, draw) {
  const beginning = one.text.length > SHOWN ? `${one.text.slice(0, SHOWN)}…` : one.text;
  const name = one.title || one.document_id || beginning;
  const open = () => {
    if (!hasWork() || confirm(t("review.instead"))) openQueued(one);
  };
  const drop = async () => {
    try {
      await ask(modelPath(`/review/${one.id}`), { method: "DELETE" });
      await draw();
    } catch (error) {
      say(error.message);
    }
  };
  return el("li", {},
    el("div", { className: "what" }, el("button", { type: "button", className: "name", "data-f": `open:${one.id}`, onclick: open }, el("bdi", {}, name)), name === beginning ? null : el("p", { className: "quiet", dir: "auto" }, beginning)),
    el("span", { className: "score" }, el("meter", { min: 0, max: 1, value: one.doubt, "aria-label": t("doubt") }), el("span", { className: "number" }, percent(one.doubt))),
    el("button", { type: "button", className: "small", "data-f": `drop:${one.id}`, onclick: drop, "aria-label": t("review.drop.named", { name }) }, t("review.drop")));
}

// Several texts at once, an empty line between two, or files of text.
function adding(draw) {
  const text = el("textarea", { id: "queue", rows: 5, dir: "auto", value: typed, "aria-describedby": "queue-help" });
  text.addEventListener("input", () => (typed = text.value));
  const send = async () => {
    const documents = text.value.split(/\n\s*\n/).map((one) => ({ text: one.trim() })).filter((one) => one.text);
    if (!documents.length) return;
    try {
      const { ids } = await ask(modelPath("/review"), { method: "POST", json: { documents } });
      text.value = typed = "";
      say(t("review.added", { n: ids.length }));
      await draw();
    } catch (error) {
      say(error.message || t("away"));
    }
  };
  return el("details", { open: Boolean(typed) }, el("summary", {}, t("review.add")),
    el("p", {}, el("label", { htmlFor: "queue" }, t("review.texts")), text),
    el("p", { id: "queue-help", className: "quiet" }, t("review.help")),
    el("button", { type: "button", onclick: send }, t("review.send")));
}

// After a document of the queue was saved: on with the next, or back to the list.
export async function nextQueued(done) {
  try {
    const next = (await queue(2)).find(({ id }) => id !== done);
    if (next) {
      openQueued(next);
      dispatchEvent(new HashChangeEvent("hashchange")); // also where the view is open already
      return;
    }
  } catch {
    // the list says why
  }
  location.hash = "#/review";
}
