// What the first view does not wait for: fetched at once when that is drawn, and there before anybody needs it.
const NAMES = ["chosen", "combobox", "exporting", "exports", "model", "places", "records", "review", "saved", "suggestions"];
let done;

export let rest = null; // what those files export, once all are there
export const whole = new Promise((resolve) => (done = resolve)); // the same, for those who wait

export async function fetchRest() {
  const found = Object.assign({}, ...(await Promise.all(NAMES.map((name) => import(`./${name}.js`)))));
  await found.openKept();
  rest = found;
  done(rest);
}
