// In the window, every change is saved at once: it is sent to the server, which writes the file that the commands read.
// A change that is not saved yet is kept in this browser, reported, and sent again.

import { byId, make, recall, remember } from "./dom.js";
import { ask, below, MADE, tell } from "./server.js";
import { DATA, filesNow } from "./state.js";
import { plural } from "./text.js";

const AGAIN_MS = 2000;
const KEPT = `rgwot unsaved ${DATA.dataset}/${DATA.task}`;
/** What is not saved yet, by file: { kind, video, text, fault }; a file with a `fault` waits until a person decides. */
const unsaved = new Map(((recall(KEPT, null) || { unsaved: [] }).unsaved).map(([key, entry]) => [key, { ...entry, fault: "" }]));
/** By file: the digest of its last known content, or why it must not be replaced and which name is free instead. */
let savedFiles = filesNow;
let isSending = false;

/** Save a file of the task: the text of `names`, `groups` or the `annotation` of a video; null removes it. */
export function save(kind, text, video = "") {
  if (!MADE) return;
  unsaved.set(`${kind} ${video}`.trim(), { kind, video, text, fault: "" });
  sendAll();
}

function keepUnsaved() {
  remember(KEPT, unsaved.size ? JSON.stringify({ base: null, unsaved: [...unsaved] }) : null);
}

async function sendAll() {
  keepUnsaved();
  showSaved();
  if (isSending) return;
  isSending = true;
  let waits = false;
  while (!waits) {
    const next = [...unsaved].find(([, entry]) => !entry.fault);
    if (!next) break;
    waits = !(await sendOne(...next));
    keepUnsaved();
    showSaved();
  }
  isSending = false;
  if (waits) setTimeout(sendAll, AGAIN_MS);
}

/** Send one file; false if it has to be sent again later. */
async function sendOne(key, entry, apart = false) {
  try {
    savedFiles ||= await ask(`${below("/api/files", DATA.dataset, DATA.task)}?made=${MADE}`);
    const known = savedFiles[key] || { base: "" };
    if (known.why && !apart) throw Object.assign(new Error(known.why), { status: 409, content: known });
    const answer = await tell("PUT", below("/api/save", DATA.dataset, DATA.task), { kind: entry.kind, video: entry.video, text: entry.text, base: known.base || "", apart });
    if (!apart) savedFiles[key] = { ...known, base: answer.base };
    // Changes made meanwhile are sent next.
    if (unsaved.get(key) === entry) unsaved.delete(key);
    whyUnsaved = "";
    return true;
  } catch (error) {
    whyUnsaved = error.message;
    // Somebody else's file, or one that the commands could not read: sending it again would not help.
    if (error.status === 409 || error.status === 400) Object.assign(entry, { fault: error.message, apart: error.content.apart || "" });
    return entry.fault !== "";
  }
}

let whyUnsaved = "";
function showSaved() {
  const faulty = [...unsaved].filter(([, entry]) => entry.fault);
  byId("saved").textContent = faulty.length ? "" : unsaved.size ? `Not saved yet: ${plural(unsaved.size, "change")}, kept in this browser. ${whyUnsaved}` : "Everything is saved.";
  byId("saved").classList.toggle("notice", Boolean(whyUnsaved));
  byId("unsaved").replaceChildren(...faulty.map(([key, entry]) => {
    const line = make("p", { className: "notice", textContent: `${entry.fault} ` });
    const button = (words, act) => {
      const made = make("button", { type: "button", textContent: words });
      made.addEventListener("click", act);
      line.append(made, " ");
    };
    if (entry.apart) button(`Save as ${entry.apart}`, async () => { if (await sendOne(key, entry, true)) sendAll(); });
    button("Leave mine out", () => { unsaved.delete(key); sendAll(); });
    return line;
  }));
}

export function startSaving() {
  if (!MADE) return;
  byId("saving").hidden = false;
  window.addEventListener("beforeunload", (event) => { if (unsaved.size) event.preventDefault(); });
  sendAll();
}
