// The steps that can be labelled in the window, by name: their colours and keys.

import { byId, make, recall, remember } from "./dom.js";
import { annotatedNames } from "./labels.js";
import { colourOfName, label, lookAt, lookOf } from "./looks.js";
import { shot, shotsOf } from "./procedure.js";
import { calledNow, inOrder, sameStep, stepName } from "./results.js";
import { DATA, state } from "./state.js";
import { keyFor, STEP_KEYS } from "./text.js";

const CHOSEN = `rgwot keys ${DATA.dataset}/${DATA.task}`;
/** The keys of names: chosen by a person in this browser, or assigned in turn. They do not change by themselves. */
const keyOfName = new Map((recall(CHOSEN, null) || { keys: [] }).keys);
const chosenNames = new Set(keyOfName.keys());
/** Names that people added and have not used yet. */
const addedNames = [];
/** All names so far, in the order in which they first occurred, so that their positions do not change. */
let namesSoFar = [];

/** All names: annotated ones, those of the steps that were found first and of the shown result, and added ones. */
export function allNames() {
  const foundNames = [...new Set([0, state.run])].flatMap((run) => inOrder(run).filter((step) => sameStep(run, step) === step).map((step) => stepName(run, step)));
  const now = new Set([...annotatedNames(), ...foundNames, ...addedNames].filter((name) => name !== "-"));
  namesSoFar = [...new Set([...namesSoFar, ...now])].filter((name) => now.has(name));
  return namesSoFar;
}

/** The key of every name: the one that it had, or else the next free digit or letter. */
export function keysOf(names) {
  for (const name of names) if (!keyOfName.has(name)) keyOfName.set(name, keyFor(names.map((other) => keyOfName.get(other))));
  return new Map(names.map((name) => [name, keyOfName.get(name)]));
}

/** The name that a key stands for; "-" for 0, nothing for others. */
export function nameFor(key) {
  if (key === "0") return "-";
  return [...keysOf(allNames())].find(([, own]) => own === key.toLowerCase())?.[0];
}

export function addName(name) {
  if (!allNames().includes(name)) addedNames.push(name);
}

/** Give a name another key; a key that is taken, or is not a single character, is refused. */
export function chooseKey(name, key) {
  const sign = key.toLowerCase();
  const other = [...keysOf(allNames())].find(([one, own]) => own === sign && one !== name);
  if (!STEP_KEYS.includes(sign) || other) return other ? `${sign} is the key of ${other[0]}.` : "Choose a letter or a digit from 1 to 9.";
  keyOfName.set(name, sign);
  chosenNames.add(name);
  remember(CHOSEN, JSON.stringify({ base: null, keys: [...keyOfName].filter(([one]) => chosenNames.has(one)) }));
  return "";
}

/** The classes of a name's colour: those of the found step with this name, or else of one that no other has. */
export function lookOfName(name) {
  if (name === "-") return ["step", "s0"];
  const step = inOrder(state.run).find((own) => stepName(state.run, own) === name);
  return step ? lookOf(state.run, step) : lookAt(colourOfName(name));
}

/** A picture of a step by its name, in the shown result or else in the first one; null without one. */
function pictureOfName(name) {
  for (const run of [state.run, 0]) {
    const step = inOrder(run).find((own) => stepName(run, own) === name);
    const found = step ? shotsOf(run, step)[0] : null;
    if (found) return shot(...found);
  }
  return null;
}

/** The names with their keys; a click on a name gives it as its key does, a click on a key changes the key. */
export function keyList(give, say, pictured = false) {
  const entry = (name, key) => {
    const button = make("button", { type: "button", className: "named" }, label(lookOfName(name), name === "-" ? "no step" : calledNow(name)));
    button.addEventListener("click", () => give(name));
    const field = make("input", { type: "text", maxLength: 1, size: 1, value: key, className: "key", aria: { label: `key of ${calledNow(name)}` }, disabled: name === "-" });
    field.addEventListener("focus", () => field.select());
    field.addEventListener("input", () => {
      if (!field.value) return;
      say(chooseKey(name, field.value));
      field.value = keysOf(allNames()).get(name);
      field.blur();
    });
    return make("li", {}, field, button, pictured ? pictureOfName(name) : null);
  };
  return [...[...keysOf(allNames())].map(([name, key]) => entry(name, key)), entry("-", "0")];
}

/** A field for the name of a new step; Enter labels with it. */
export function startNewName(id, give) {
  byId(id).addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key !== "Enter") return;
    const typed = byId(id).value.trim();
    const name = allNames().find((own) => calledNow(own) === typed) ?? typed;
    byId(id).value = "";
    byId(id).blur();
    if (!name) return;
    addName(name);
    give(name);
  });
}
