// The first page of the window: the name of a new study, the progress of its first answer, and the pages of its tasks.

import { byId, make } from "./dom.js";
import { canBeCancelled, noteInWords, runInWords } from "./running.js";
import { ask, below, tell, watchServer } from "./server.js";
import { plural } from "./text.js";

const go = byId("go");
let proposed = false;
let shown = "";
/** Whether a task had a page when this page was opened; otherwise the first one is opened as soon as it is made. */
let first = null;

function showProposal({ videos, study, flat, tasks }) {
  byId("proposal").hidden = false;
  byId("found").textContent = `Found in ${videos}: ${Object.entries(tasks).map(([task, n]) => `${plural(n, "video")}${flat ? "" : ` of ${task}`}`).join(", ")}.`;
  byId("task-row").hidden = !flat;
  if (proposed) return;
  proposed = true;
  byId("study-name").value = study;
  byId("task-name").value = Object.keys(tasks)[0];
  byId("study-name").focus();
}

function show(state) {
  byId("gone").hidden = state !== null;
  if (!state) return;
  byId("many").hidden = !(state.windows > 1);
  byId("proposal").hidden = !state.proposal;
  byId("study").hidden = Boolean(state.proposal);
  if (state.proposal) {
    showProposal(state.proposal);
    return;
  }
  byId("problem").textContent = state.problem || "";
  byId("problem").hidden = !state.problem;
  if (!state.run) return;
  byId("folder").textContent = state.folder;
  const made = state.tasks.filter((task) => task.made);
  if (first === null) first = made.length === 0;
  if (first && state.tasks.length === 1 && made.length === 1) location.assign(pageOf(made[0]));
  byId("running").textContent = runInWords(state.run, !made.length);
  byId("fault").hidden = !state.run.fault || state.run.at_work;
  byId("bar").hidden = !state.run.at_work || !state.run.steps;
  byId("bar").max = state.run.steps || 1;
  byId("bar").value = state.run.done;
  Object.assign(byId("cancel"), { hidden: !canBeCancelled(state.run), textContent: made.length ? "Cancel the update" : "Cancel the first answer" });
  byId("again").hidden = state.run.at_work || state.run.waiting || !(state.run.fault || state.run.cancelled);
  byId("notes").replaceChildren(...state.run.progress.map((note) => make("li", { textContent: noteInWords(note) })));
  const listed = JSON.stringify(state.tasks);
  if (listed === shown) return;
  shown = listed;
  byId("tasks").replaceChildren(...state.tasks.map((task) => make("li", {},
    task.made ? make("a", { href: pageOf(task), textContent: task.title }) : make("span", { textContent: task.title }),
    `, ${plural(task.videos, "video")}${task.made ? "" : ", no answer yet"}`)));
}

const pageOf = ({ dataset, task }) => `${below("/results/report", dataset, task)}.html`;

function complain(error) {
  byId("begin-status").textContent = error.message;
}

byId("begin").addEventListener("submit", (event) => {
  event.preventDefault();
  go.disabled = true;
  tell("POST", "/api/begin", { study: byId("study-name").value, task: byId("task-name").value }).catch(complain).finally(() => { go.disabled = false; });
});
byId("cancel").addEventListener("click", () => tell("POST", "/api/run", { cancel: true }).catch(() => {}));
byId("again").addEventListener("click", () => tell("POST", "/api/run", {}).catch(() => {}));
byId("fault").addEventListener("toggle", async () => {
  if (byId("fault").open) byId("log").textContent = (await ask("/api/log").catch(({ message }) => ({ log: message }))).log;
});
watchServer(show);
