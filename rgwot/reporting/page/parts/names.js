// Names of key steps. A page without a server cannot write files: typed names stay in this browser, and can be
// downloaded as a small file that the workflow reads. Names belong to one result, because every training numbers its
// clusters anew.

const typed = new Map();
const LONGEST_NAME = 80;

const keyOf = (run) => `rgwot names ${DATA.dataset}/${DATA.task}/${factsOf(run).id}/${factsOf(run).result}`;

/** Names of a run by step: those of the file, or as they were changed in this browser since. */
function namesOf(run) {
  if (!typed.has(run)) {
    const inFile = factsOf(run).names;
    const kept = recall(keyOf(run), inFile);
    typed.set(run, kept ? kept.names : { ...inFile });
  }
  return typed.get(run);
}

/** Names that annotated videos gave to key steps; typed names take precedence. */
const labelsOf = (run) => factsOf(run).labels || {};
/** Names of a run's key steps that people typed. */
const typedOf = (run) => Object.fromEntries(Object.entries(namesOf(run)).filter(([step, name]) => stepsOf(run).includes(Number(step)) && name !== labelsOf(run)[step]));

const nameOf = (run, step) => (run < 0 ? DATA.steps[step] : namesOf(run)[step]) || "";
/** The key step that a key step is merged into: the first one with its name, or background if its name is "-". */
function sameStep(run, step) {
  const name = run < 0 ? "" : nameOf(run, step);
  if (!name) return step;
  return name === "-" ? 0 : stepsOf(run).find((other) => nameOf(run, other) === name) ?? step;
}

/** A name, or else the number. */
const labelOf = (run, step) => nameOf(run, step) || (step ? String(step) : "-");
/** The number and the name. */
const fullLabel = (run, step) => step === 0 ? "background" : `${run < 0 ? "annotated step" : "key step"} ${step}${nameOf(run, step) ? `: ${nameOf(run, step)}` : ""}`;

function rename(run, step, text) {
  const names = { ...namesOf(run) };
  const name = oneLine(text) || labelsOf(run)[step];
  if (name) names[step] = name;
  else delete names[step];
  keep(run, names);
}

function keep(run, names) {
  typed.set(run, names);
  remember(keyOf(run), JSON.stringify({ base: factsOf(run).names, names }));
}

/** Forget what was typed in this browser; the names of the file stay. */
function forgetTyped(run) {
  remember(keyOf(run), null);
  typed.delete(run);
}

/** Write a text as a double-quoted YAML scalar; what does not print becomes an escape. */
function quoted(text) {
  const letters = Array.from(text.toWellFormed ? text.toWellFormed() : text, (letter) => {
    if (letter === '"' || letter === "\\") return `\\${letter}`;
    if (!/\p{C}|\p{Zl}|\p{Zp}/u.test(letter)) return letter;
    return `\\U${letter.codePointAt(0).toString(16).padStart(8, "0")}`;
  });
  return `"${letters.join("")}"`;
}

/** The file of names; it keeps the names of other results. */
function namesFile() {
  const entries = new Map(Object.entries(DATA.typed).map(([run, entry]) => [run, entry]));
  DATA.runs.forEach((facts, run) => {
    const names = typedOf(run);
    if (Object.keys(names).length) entries.set(facts.id, { result: facts.result, names });
    else if (entries.has(facts.id) && entries.get(facts.id).result === facts.result) entries.delete(facts.id);
  });
  const lines = [`# Names of key steps, typed into the page of a task. Its place is ${DATA.names_path.replace(/\p{C}/gu, "?")}`];
  for (const [run, { result, names }] of [...entries].sort()) {
    lines.push(`${quoted(run)}:`, `  result: ${quoted(result)}`, "  names:");
    for (const step of Object.keys(names).map(Number).sort((a, b) => a - b)) lines.push(`    ${step}: ${quoted(names[step])}`);
  }
  return `${lines.join("\n")}\n`;
}

function downloadNames() {
  download(namesFile(), "application/yaml", `${DATA.task}.yaml`);
  const cut = DATA.names_path.lastIndexOf("/") + 1;
  byId("names-status").textContent = `Downloaded. Move it into the folder ${DATA.names_path.slice(0, cut) || "."} (create it if it is missing) as ${DATA.names_path.slice(cut)}; then repeat the command that made this page, such as \`rgwot run first\`. Tables and figures then use the names, too.`;
}
