// The steps that can be labelled in the window, by name: their colours and keys.

import { byId, make, recall, remember } from "./dom.js";
import { annotatedNames } from "./labels.js";
import { colourOfName, label, lookAt, lookOf } from "./looks.js";
import { shot, shotsOf } from "./procedure.js";
import { calledNow, inOrder, sameStep, stepName, stepsOf } from "./results.js";
import { DATA, state } from "./state.js";
import { keyFor, STEP_KEYS } from "./text.js";

const KEYS_KEPT = `rgwot keys ${DATA.dataset}/${DATA.task}`;
const keptKeys = { keys: [], added: [], ...recall(KEYS_KEPT, null) };
/** The keys of names, one each, in the order in which the names were first listed; this browser keeps them. */
let keyOfName = new Map(keptKeys.keys);
/** Names that people typed, which need not be used yet. */
let addedNames = keptKeys.added;

const keepKeys = () => remember(KEYS_KEPT, JSON.stringify({ base: null, keys: [...keyOfName], added: addedNames }));

/** The first result that learned from no labels: its names stay listed when another result comes first. */
const plainRun = () => Math.max(0, DATA.runs.findIndex(({ kind, given }) => ["trained", "untrained"].includes(kind) && !given.length));

/** The names of found steps: those that were found without labels, and those of the shown result. */
const foundNames = () => [...new Set([plainRun(), state.run])].flatMap((run) => stepsOf(run).filter((step) => sameStep(run, step) === step).map((step) => stepName(run, step)));

/** All names with their keys. A name keeps its key; a new one takes the next free key, in the place of a name that is gone. */
export function keysOfNames() {
  const names = new Set([...annotatedNames(), ...foundNames(), ...addedNames].filter((name) => name !== "-"));
  const before = keyOfName;
  for (const name of names) if (!keyOfName.has(name)) assignKey(name, keyFor([...keyOfName].filter(([other]) => names.has(other)).map(([, key]) => key)));
  if (keyOfName !== before) keepKeys();
  return new Map([...keyOfName].filter(([name]) => names.has(name)));
}

function assignKey(name, key) {
  const entries = [...keyOfName];
  const at = entries.findIndex(([, own]) => own && own === key);
  entries[at < 0 ? entries.length : at] = [name, key];
  keyOfName = new Map(entries);
}

/** The name that a key stands for; "-" for 0, undefined for keys without a name. */
export function nameFor(key) {
  if (key === "0") return "-";
  return [...keysOfNames()].find(([, own]) => own === key.toLowerCase())?.[0];
}

export function addName(name) {
  if (keysOfNames().has(name)) return;
  addedNames = [...addedNames, name];
  keepKeys();
}

/** Whether a name is listed only because somebody typed it. */
const isUnused = (name) => addedNames.includes(name) && !annotatedNames().includes(name) && !foundNames().includes(name);

function removeName(name) {
  addedNames = addedNames.filter((other) => other !== name);
  keyOfName.delete(name);
  keepKeys();
}

/** Give a name another key; a key that is taken, or is not a single character, is refused. */
export function chooseKey(name, key) {
  const sign = key.toLowerCase();
  const other = [...keysOfNames()].find(([one, own]) => own === sign && one !== name);
  if (!STEP_KEYS.includes(sign) || other) return other ? `${sign} is the key of ${other[0]}.` : "Choose a letter or a digit from 1 to 9.";
  for (const [one, own] of keyOfName) if (own === sign && one !== name) keyOfName.delete(one);
  keyOfName.set(name, sign);
  keepKeys();
  return "";
}

/** The classes of a name's colour: that of the found step with this name, or else an unused colour. */
export function lookOfName(name) {
  if (name === "-") return ["step", "s0"];
  const step = inOrder(state.run).find((own) => stepName(state.run, own) === name);
  return step ? lookOf(state.run, step) : lookAt(colourOfName(name));
}

/** A picture of a step by its name, in the shown result or else in the first one; null if there is none. */
function pictureOfName(name) {
  for (const run of [state.run, 0]) {
    const step = inOrder(run).find((own) => stepName(run, own) === name);
    const found = step ? shotsOf(run, step)[0] : null;
    if (found) return shot(...found);
  }
  return null;
}

/** The names with their keys; a click on a name gives it as its key does, a click on a key changes the key, × removes an unused name. */
export function keyList(give, say, pictured = false) {
  const entry = (name, key) => {
    const button = make("button", { type: "button", className: "named" }, label(lookOfName(name), name === "-" ? "no step" : calledNow(name)));
    button.addEventListener("click", () => give(name));
    const field = make("input", { type: "text", maxLength: 1, size: 1, value: key, className: "key", aria: { label: `key of ${calledNow(name)}` }, disabled: name === "-" });
    field.addEventListener("focus", () => field.select());
    field.addEventListener("input", () => {
      if (!field.value) return;
      say(chooseKey(name, field.value));
      field.value = keysOfNames().get(name);
      field.blur();
    });
    const item = make("li", {}, field, button, pictured ? pictureOfName(name) : null);
    if (isUnused(name)) {
      const remove = make("button", { type: "button", className: "remove", textContent: "×", aria: { label: `Remove ${name}` } });
      remove.addEventListener("click", () => { removeName(name); item.remove(); });
      item.append(remove);
    }
    return item;
  };
  return [...[...keysOfNames()].map(([name, key]) => entry(name, key)), entry("-", "0")];
}

/** A field for the name of a new step, or the names of several with commas between them; Enter gives them. */
export function startNewNames(id, give, several) {
  byId(id).addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter") return;
    const typed = (several ? byId(id).value.split(",") : [byId(id).value]).map((name) => name.trim()).filter(Boolean);
    byId(id).value = "";
    byId(id).blur();
    for (const called of typed) {
      const name = [...keysOfNames().keys()].find((own) => calledNow(own) === called) ?? called;
      addName(name);
      give(name);
    }
  });
}
