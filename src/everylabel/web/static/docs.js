// Interactive documentation from the OpenAPI document beside this page; nothing else is loaded.
const base = new URL("..", document.baseURI);
const element = (name, text = "", props = {}) => Object.assign(document.createElement(name), { textContent: text }, props);

function resolved(schema, all) {
  return schema?.$ref ? resolved(all.components.schemas[schema.$ref.split("/").pop()], all) : (schema ?? {});
}

function example(schema, all, depth = 0) {
  const own = resolved(schema, all);
  if (own.default !== undefined) return own.default;
  if (own.anyOf) return example(own.anyOf[0], all, depth);
  if (own.enum) return own.enum[0];
  if (own.type === "array") return depth < 4 ? [example(own.items, all, depth + 1)] : [];
  if (own.type === "object") {
    const wanted = Object.entries(own.properties ?? {}).filter(([name]) => (own.required ?? []).includes(name));
    return Object.fromEntries(wanted.map(([name, value]) => [name, example(value, all, depth + 1)]));
  }
  return { integer: own.minimum ?? 0, number: own.minimum ?? 0, boolean: false, string: "" }[own.type] ?? null;
}

function fieldFor({ name, required, description, schema }) {
  const label = element("label", `${name}${required ? " *" : ""} `, { title: description ?? "" });
  label.append(element("input", "", { name, placeholder: String(schema?.default ?? "") }));
  return label;
}

function bodyFor(requestBody, all) {
  const content = requestBody?.content ?? {};
  if (content["application/json"]) {
    const value = JSON.stringify(example(content["application/json"].schema, all), null, 2);
    return { kind: "json", field: element("textarea", "", { rows: 8, value, ariaLabel: "body" }) };
  }
  if (content["multipart/form-data"]) {
    return { kind: "file", field: element("input", "", { type: "file", ariaLabel: "file" }) };
  }
  return { kind: "", field: null };
}

async function send(method, path, parameters, form, body, output) {
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) {
    const value = form.elements[name].value;
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== "") query.set(name, value);
  }
  const key = document.getElementById("key").value;
  const headers = key ? { Authorization: `Bearer ${key}` } : {};
  const options = { method: method.toUpperCase(), headers };
  if (body.kind === "json") {
    headers["Content-Type"] = "application/json";
    options.body = body.field.value;
  } else if (body.kind === "file") {
    options.body = new FormData();
    options.body.set("file", body.field.files[0] ?? "");
  }
  output.textContent = "…";
  try {
    const response = await fetch(new URL(`.${path}${query.size ? `?${query}` : ""}`, base), options);
    const text = await response.text();
    const isJson = /^application\/(problem\+)?json/.test(response.headers.get("Content-Type") ?? "");
    const shown = isJson && text ? JSON.stringify(JSON.parse(text), null, 2) : text;
    output.textContent = `${response.status} ${response.statusText}\n${shown}`;
  } catch (error) {
    output.textContent = error.message;
  }
}

function operation(method, path, about, all) {
  const found = element("details");
  const summary = element("summary");
  summary.append(element("strong", method.toUpperCase()), ` ${path} `, element("span", about.summary ?? ""));
  const form = element("form");
  const parameters = about.parameters ?? [];
  const body = bodyFor(about.requestBody, all);
  const output = element("pre");
  form.append(...parameters.map(fieldFor), ...(body.field ? [body.field] : []), element("button", "Send"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(method, path, parameters, form, body, output);
  });
  const statuses = element("p", `Answers: ${Object.keys(about.responses).join(", ")}`);
  found.append(summary, element("p", about.description ?? ""), form, statuses, output);
  return found;
}

const all = await (await fetch(new URL("openapi.json", base))).json();
document.getElementById("title").textContent = `${all.info.title} ${all.info.version}`;
document.getElementById("about").textContent = all.info.description ?? "";
const operations = Object.entries(all.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, about]) => operation(method, path, about, all)),
);
document.getElementById("operations").replaceChildren(...operations);
