// The small page: asks /api for models and tags. Texts go into the page as texts, never as markup.
const byId = (id) => document.getElementById(id);
const headers = () => (byId("key").value ? { Authorization: `Bearer ${byId("key").value}` } : {});
const say = (text) => (byId("said").textContent = text);

async function ask(path, options = {}) {
  const response = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  const value = await response.json();
  if (!response.ok) throw new Error(value.detail ?? response.statusText);
  return value;
}

async function listModels() {
  try {
    const { models } = await ask("api/models");
    byId("project").replaceChildren(...models.map(({ id, name }) => new Option(name, id)));
    if (models.length) {
      byId("reconcile").textContent = new URL(`v1/projects/${models[0].id}/reconcile`, document.baseURI).href;
    }
    say("");
  } catch (error) {
    say(error.message);
  }
}

function row({ name, uri, score, notation }) {
  const cells = [1, 2, 3].map(() => document.createElement("td"));
  if (/^https?:/.test(uri)) {
    cells[0].append(Object.assign(document.createElement("a"), { href: uri, rel: "noreferrer", textContent: name }));
  } else {
    cells[0].textContent = name;
  }
  cells[1].append(Object.assign(document.createElement("meter"), { value: score }), ` ${score.toFixed(2)}`);
  cells[2].textContent = notation ?? "";
  const found = document.createElement("tr");
  found.append(...cells);
  return found;
}

async function tag(event) {
  event.preventDefault();
  say("…");
  try {
    const body = JSON.stringify({ text: byId("text").value, k: Number(byId("k").value) });
    const path = `api/models/${encodeURIComponent(byId("project").value)}/tag`;
    const { documents } = await ask(path, { method: "POST", body, headers: { "Content-Type": "application/json" } });
    const { labels } = documents[0];
    byId("labels").tBodies[0].replaceChildren(...labels.map(row));
    byId("labels").hidden = !labels.length;
    say(labels.length ? "" : "No label fits.");
  } catch (error) {
    say(error.message);
  }
}

byId("ask").addEventListener("submit", tag);
byId("key").addEventListener("change", listModels);
listModels();
