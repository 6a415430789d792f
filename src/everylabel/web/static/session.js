// What all views share: the models that are served, the chosen one, the language of labels.
import { ask } from "./api.js";

const MODEL = "everylabel.model";
const NAMES = "everylabel.names";

export const session = { models: [], model: null, details: null };

export const modelId = () => session.model?.id ?? localStorage.getItem(MODEL) ?? "";
export const modelPath = (rest = "") => `models/${encodeURIComponent(modelId())}${rest}`;

export function namesIn() {
  const wanted = localStorage.getItem(NAMES) ?? "";
  return session.model?.languages.includes(wanted) ? wanted : "";
}

export const chooseNames = (language) => localStorage.setItem(NAMES, language);

export async function loadModels() {
  const { models } = await ask("models");
  session.models = models;
  const wanted = localStorage.getItem(MODEL);
  await chooseModel((models.find(({ id }) => id === wanted) ?? models[0])?.id ?? "");
}

export async function chooseModel(id) {
  session.model = session.models.find((one) => one.id === id) ?? null;
  session.details = null;
  if (!session.model) return;
  localStorage.setItem(MODEL, id);
  session.details = await ask(modelPath());
}
