// Answers of the server while the page is open: results that it computed from labels, or with another number of key steps,
// take their place among the results of the page.

import { block, byId, setBlock } from "./dom.js";
import { runInWords } from "./running.js";
import { ask, below, MADE, watchServer } from "./server.js";
import { DATA, state } from "./state.js";

/** Sends "answer" (with the number of the result) when a result is new, and "state" with what the server says of itself. */
export const live = new EventTarget();

/** Put an answer among the results, in place of the one with its id; returns the number of the result. */
export function putAnswer({ facts, body, picture, truth, steps, status }) {
  const known = DATA.runs.findIndex(({ id }) => id === facts.id);
  const run = known < 0 ? DATA.runs.length : known;
  DATA.runs[run] = facts;
  setBlock(`run-${run}`, body);
  // Typical frames are those of another answer; the tree does not depend on one.
  const view = block(`view-${run}`);
  setBlock(`view-${run}`, view && { ...view, typical: [] });
  Object.assign(DATA, { truth, steps });
  DATA.videos.forEach((video, at) => [video.status, video.reason] = status[at]);
  state.names.delete(run);
  document.querySelector(`.procedure[data-run="${run}"]`)?.remove();
  // The template of the page wrote it, and escaped every text in it; a script in it would not run either.
  const drawn = new DOMParser().parseFromString(picture, "text/html").querySelector(".procedure");
  drawn.dataset.run = String(run);
  byId("no-procedure").after(drawn);
  return run;
}

/** The spans of each video that the last answer has changed, in milliseconds, by id; and what it says of itself. */
export let latest = { changed: {}, share: null, settled: false };

let answerVersion = 0;
let fetching = false;
async function learn(told) {
  if (fetching || !told || told.version === answerVersion) return;
  fetching = true;
  try {
    const answer = await ask(below("/api/answer", DATA.dataset, DATA.task));
    answerVersion = answer.version;
    if (answer.facts) {
      latest = answer;
      live.dispatchEvent(new CustomEvent("answer", { detail: { run: putAnswer(answer), learned: true } }));
    }
  } catch {
    // The next state says so, and asks again.
  }
  fetching = false;
}

function showState(told) {
  byId("gone").hidden = told !== null;
  if (!told) return;
  const own = (told.tasks || []).find(({ dataset, task }) => dataset === DATA.dataset && task === DATA.task);
  const answer = (told.answers || {})[`${DATA.dataset}/${DATA.task}`];
  byId("many-windows").hidden = !(told.windows > 1);
  byId("newer").hidden = !own || !own.made || own.made === MADE;
  const lines = [answer?.working ? "Learning from your labels." : "", answer?.fault || "", told.run ? runInWords(told.run) : "", told.problem || ""];
  byId("running").textContent = lines.filter(Boolean).join(" ");
  byId("cancel").hidden = !told.run?.at_work;
  live.dispatchEvent(new CustomEvent("state", { detail: told }));
  learn(answer);
}

export function startLive() {
  if (MADE) watchServer(showState);
}
