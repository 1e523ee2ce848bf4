// The files of the task in the window, which the commands read: their content when the page was opened, and saving at
// once. What is not saved yet is kept in this browser, reported, and sent again. A file that has another content than the
// page has read or saved last is never replaced.

import { block, byId, make, recall, remember } from "./dom.js";
import { ask, below, MADE, tell } from "./server.js";
import { DATA } from "./state.js";
import { plural } from "./text.js";

const AGAIN_MS = 2000;
const SENT_MS = 50;
const KEPT = `rgwot unsaved ${DATA.dataset}/${DATA.task}`;
/** The files: the digest `base` and the `content` as read last, or `why` one stays and which name is free `apart`. */
const savedFiles = (MADE && block("files")) || {};
const keyOfFile = (kind, video) => `${kind} ${video}`.trim();
/** What is not saved yet, by file: { kind, video, text, content, fault }; a file with a `fault` waits for a person. */
const unsaved = new Map();
let isSending = false;
/** Sends "read" ({ kind, video }) when a file was read again. */
export const filesRead = new EventTarget();

/** What an earlier page could not save is sent as a change of what that page had read. */
for (const [key, entry] of MADE ? recall(KEPT, null)?.unsaved || [] : []) {
  unsaved.set(key, { ...entry, fault: "" });
  if (savedFiles[key] && "base" in entry) savedFiles[key].base = entry.base;
}

/** The content of a file with the changes that are not saved yet; undefined if the page cannot show the file. */
export function contentOf(kind, video = "") {
  const key = keyOfFile(kind, video);
  return unsaved.get(key)?.content ?? savedFiles[key]?.content;
}

/**
 * Save a file of the task: the text of `names`, `groups` or the `annotation` of a video; null removes it. The `content`
 * is what `contentOf` returns for it.
 */
export function save(kind, text, content, video = "") {
  if (!MADE) return;
  unsaved.set(keyOfFile(kind, video), { kind, video, text, content, fault: "" });
  sendAll();
}

/** Why the page cannot replace a file; empty if it can. */
export const whyItStays = (kind, video = "") => savedFiles[keyOfFile(kind, video)]?.why || "";

/** Read a file of the task again, unless it has changes that are not saved yet. */
export async function readFile(kind, video = "") {
  const key = keyOfFile(kind, video);
  const before = savedFiles[key];
  const now = await ask(`${below("/api/files", DATA.dataset, DATA.task)}?only=${encodeURIComponent(key)}`);
  if (savedFiles[key] === before && !unsaved.has(key)) savedFiles[key] = now[key];
  filesRead.dispatchEvent(new CustomEvent("read", { detail: { kind, video } }));
}

function keepUnsaved() {
  const kept = [...unsaved].map(([key, entry]) => [key, { ...entry, base: savedFiles[key]?.base }]);
  remember(KEPT, kept.length ? JSON.stringify({ base: null, unsaved: kept }) : null);
}

/** Wait until everything is saved that can be. */
export async function allSent() {
  while ([...unsaved.values()].some(({ fault }) => !fault)) await new Promise((go) => setTimeout(go, SENT_MS));
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
    const known = savedFiles[key] || { base: "" };
    if (known.why && !apart) throw Object.assign(new Error(known.why), { status: 409, content: known });
    const answer = await tell("PUT", below("/api/save", DATA.dataset, DATA.task), { kind: entry.kind, video: entry.video, text: entry.text, base: known.base || "", apart });
    if (!apart) savedFiles[key] = { ...known, base: answer.base, content: entry.content };
    // Changes made meanwhile are sent next.
    if (unsaved.get(key) === entry) unsaved.delete(key);
    if (apart) await readFile(entry.kind, entry.video);
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
    button("Show the file, leave mine out", () => {
      unsaved.delete(key);
      readFile(entry.kind, entry.video).catch(({ message }) => { whyUnsaved = message; }).finally(sendAll);
    });
    return line;
  }));
}

export function startSaving() {
  if (!MADE) return;
  byId("saving").hidden = false;
  window.addEventListener("beforeunload", (event) => { if (unsaved.size) event.preventDefault(); });
  sendAll();
}
