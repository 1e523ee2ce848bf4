// The entry of the page: tabs, the choice of a result and the head of the page. A tab is drawn when it is first shown,
// and anew when the result or a name changes.

import { pauseAsking, showAsking, startAsking } from "./asking.js";
import { drawComparison, startComparison } from "./compare.js";
import { byId, make, offer } from "./dom.js";
import { drawEditing, startEditing } from "./editing.js";
import { closeExamples } from "./examples.js";
import { startGrouping } from "./grouping.js";
import { drawGroups, startGroups } from "./groups.js";
import { labelPlace, labelVideo, pauseLabelling, restorePlace, showLabelling, startLabelling } from "./labelling.js";
import { annotations, labelsOf, suggestedVideos } from "./labels.js";
import { live, startLive } from "./live.js";
import { dye, lookOf } from "./looks.js";
import { newsInWords, newsSince, shownResults } from "./news.js";
import { player, stopPlayer } from "./player.js";
import { hidePopup, popup } from "./popup.js";
import { drawProcedure } from "./procedure.js";
import { chosenRuns, downloadNames, factsOf, forgetTyped, fromLabels, place, runOfTree, runTitle, shownTitle, viewOf } from "./results.js";
import { allSent, filesRead, startSaving } from "./saving.js";
import { drawScores, drawTraining, startScores } from "./scores.js";
import { MADE, tell } from "./server.js";
import { DATA, state } from "./state.js";
import { drawOrders, drawSteps } from "./steps.js";
import { listed, plural } from "./text.js";
import { drawTree, restoreCut, startTree } from "./tree.js";
import { cards, drawStrip, fill, makeCards, refreshCards } from "./videos.js";

const VIEWS = {
  procedure: () => { drawProcedure(); drawGroups(); },
  videos: () => { drawEditing(); (cards.children.length ? refreshCards : makeCards)(); },
  steps: () => { drawSteps(); drawOrders(); },
  tree: () => { tellTree(); drawTree(); },
  scores: () => { drawScores(); drawTraining(); drawComparison(); },
  label: showLabelling,
  ask: showAsking,
};
/** Tabs that exist only in the window, because they need a server. */
const OF_WINDOW = ["label", "ask"];
const tabs = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('[role="tab"]'))].filter((tab) => MADE || !OF_WINDOW.includes(tab.getAttribute("aria-controls")));

/** Whether a view has nothing to show for the chosen result. */
const EMPTY = {
  procedure: () => !document.querySelector(`.procedure[data-run="${state.run}"]`),
  steps: () => factsOf(state.run).kind === "trivial",
  tree: () => !viewOf(state.run)?.tree,
};
const isEmpty = (view) => Boolean(EMPTY[view]?.());

function show(wanted, focus = false) {
  const view = isEmpty(wanted) ? tabs.map((tab) => tab.getAttribute("aria-controls")).find((one) => !isEmpty(one)) : wanted;
  for (const tab of tabs) {
    tab.hidden = isEmpty(tab.getAttribute("aria-controls"));
    const own = tab.getAttribute("aria-controls") === view;
    tab.setAttribute("aria-selected", String(own));
    tab.tabIndex = own ? 0 : -1;
    byId(tab.getAttribute("aria-controls")).hidden = !own;
    if (own && focus) tab.focus();
    // In a narrow window the row of tabs scrolls.
    if (own) tab.parentElement.scrollLeft = tab.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;
  }
  state.view = view;
  // Only the views with cards and bars have a place for the player.
  if (!["procedure", "videos", "steps"].includes(view)) stopPlayer(false);
  // The page shows this tab and result again when it is loaded anew.
  if (MADE) history.replaceState({ view, picked: state.picked, offered: state.offered }, "");
  pauseLabelling();
  pauseAsking();
  closeExamples();
  hidePopup();
  if (state.drawn.has(view) && !OF_WINDOW.includes(view)) return;
  state.drawn.add(view);
  VIEWS[view]();
}

/** A name changed: redraw everything that shows names, but not the field that has the focus. */
function namesChanged() {
  for (const view of ["procedure", "videos", "scores", "tree"]) state.drawn.delete(view);
  drawVerdict();
  if (state.view !== "steps") return show(state.view);
  for (const own of byId("rows").querySelectorAll(".keystep")) dye(own.querySelector(".chip"), lookOf(state.run, Number(own.dataset.step)));
  return drawOrders();
}

/** Show a result that a person chose: it stays when another one is learned, and on the next page. */
function chooseRun(run) {
  state.run = run;
  state.picked = factsOf(run).id;
  state.chosen = null;
  byId("run").value = String(run);
  drawSummary();
  drawVerdict();
  state.drawn.clear();
  show(state.view);
}

/** The result with an id among those that can be chosen, or -1. */
const runCalled = (id) => chosenRuns().find((run) => factsOf(run).id === id) ?? -1;

/** Say which result is shown, and offer a newer one beside one that a person chose. */
function drawShown() {
  const many = chosenRuns().length > 1;
  byId("shown").textContent = `${many ? "Shown: " : ""}${shownTitle(state.run)}.`;
  const offered = runCalled(state.offered);
  if (offered < 0 || offered === state.run) state.offered = "";
  byId("offer").hidden = !state.offered;
  if (state.offered) byId("offer").firstElementChild.textContent = `Newer: ${shownTitle(offered)}.`;
}

function drawSummary() {
  const used = DATA.videos.filter(({ status }) => status !== "skipped");
  const parts = [plural(used.length, "video")];
  // A video with any label is annotated; labels given in Python are known only from the results that learned from them,
  // which in the window may be older than its labels.
  const labelled = new Set(MADE ? [] : chosenRuns().flatMap((run) => factsOf(run).given));
  const annotated = used.filter(({ id }) => labelled.has(id) || labelsOf(place.get(id)).length).length;
  parts.push(annotated ? `${annotated} annotated` : "none annotated", plural(chosenRuns().length, "result"));
  byId("summary").textContent = `${parts.join(", ")}.`;
  drawShown();
  const notices = DATA.notices.concat(DATA.videos.filter((video) => video.status === "skipped").map((video) => `Left out: ${video.name}: ${video.reason}`));
  for (const facts of DATA.runs) {
    if (facts.lost) notices.push(facts.lost);
  }
  const shownNotices = notices.slice(0, 20).map((text) => make("p", { className: "notice", textContent: text }));
  if (notices.length > 20) shownNotices.push(make("p", { className: "notice", textContent: `and ${notices.length - 20} more` }));
  byId("notices").replaceChildren(...shownNotices);
  const next = suggestedVideos().map((video) => DATA.videos[video].name);
  byId("about-next").hidden = !next.length;
  byId("next").textContent = `Annotate next: ${listed(next)}${MADE ? "." : ", here under Videos."}`;
  byId("next-label").textContent = `Label ${next[0]}`;
  byId("made").textContent = MADE ? `rgwot ${DATA.version}` : `Made by rgwot ${DATA.version}. Everything shown is in this file; only the videos are read, from their folder.`;
}

function drawVerdict() {
  const facts = factsOf(state.run);
  byId("warnings").replaceChildren(...facts.warnings.map((text) => make("p", { className: "notice", textContent: text })));
  byId("learned-from").textContent = facts.learned_from || "";
  byId("learned-from").hidden = !facts.learned_from;
  const commands = [["Open the videos to annotate next in ELAN", DATA.next?.commands[facts.id] || ""], ...(facts.another ? [facts.another.split(": ")] : [])].filter(([, command]) => command);
  byId("commands").replaceChildren(...commands.map(([words, command]) => make("li", {}, `${words}: `, make("code", { textContent: command }))));
  byId("about-commands").hidden = !commands.length;
  const doubts = byId("warnings").childElementCount + byId("notices").childElementCount;
  byId("doubts").textContent = doubts ? `(${doubts})` : "";
  byId("about-trust").hidden = !doubts;
  const sameMethod = DATA.runs.filter(({ method, decoder }) => method === facts.method && decoder === facts.decoder);
  byId("about-seed").hidden = !MADE || facts.given.length > 0 || !["trained", "untrained"].includes(facts.kind) || sameMethod.length > 1;
  byId("collapsed").textContent = facts.collapsed;
  byId("collapsed").hidden = !facts.collapsed;
}

/** Say of which result the tree is, if it is that of another seed. */
function tellTree() {
  const other = runOfTree(state.run);
  byId("tree-of").hidden = other < 0 || factsOf(other).seed === factsOf(state.run).seed;
  byId("tree-of").textContent = `The tree is that of try ${factsOf(Math.max(0, other)).seed}.`;
}

/** Request all results with one more seed; the next page offers them beside the results of the first seed. */
async function addSeed() {
  byId("another-seed").disabled = true;
  try {
    await tell("POST", "/api/seeds", {});
    byId("seed-status").textContent = "Saved: results of another try are made, and the next page has both.";
  } catch (error) {
    byId("another-seed").disabled = false;
    byId("seed-status").textContent = error.message;
  }
}

/** Before printing, fill all cards of videos and open all lists, because paper cannot scroll. */
function unfold() {
  if (state.view === "videos") {
    for (const card of cards.children) {
      card.style.contentVisibility = "visible";
      fill(card);
      const canvas = card.querySelector("canvas.strip");
      if (canvas) drawStrip(canvas, Number(card.dataset.video));
    }
  }
  for (const one of document.querySelectorAll(".procedure:not([hidden]) details")) one.open = true;
}

window.addEventListener("beforeprint", unfold);
document.querySelector('[role="tablist"]').addEventListener("keydown", (event) => {
  const seen = tabs.filter((tab) => !tab.hidden);
  const at = seen.findIndex((tab) => tab.getAttribute("aria-selected") === "true");
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: seen.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  show(seen[(to + seen.length) % seen.length].getAttribute("aria-controls"), true);
});
for (const tab of tabs) {
  tab.addEventListener("click", ({ detail }) => {
    show(tab.getAttribute("aria-controls"));
    // After a click, arrow keys control the video, and no longer the tabs.
    if (detail && OF_WINDOW.includes(state.view)) tab.blur();
  });
}
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (!popup.hidden) hidePopup();
  else if (!player.hidden) stopPlayer();
});
window.addEventListener("scroll", hidePopup, { passive: true });
function offerRuns() {
  const runs = chosenRuns();
  byId("numbers").hidden = runs.length < 2;
  offer(byId("run"), runs.map((run) => [run, `${runTitle(run)}${factsOf(run).collapsed ? " (collapsed)" : ""}`]));
  byId("run").value = String(state.run);
}
offerRuns();
byId("run").addEventListener("change", () => chooseRun(Number(byId("run").value)));
byId("bars").addEventListener("change", () => { state.drawn.delete("videos"); show(state.view); });
startTree();
startEditing();
byId("rows").addEventListener("change", namesChanged);
byId("download").addEventListener("click", downloadNames);
byId("forget").addEventListener("click", () => {
  forgetTyped(state.run);
  namesChanged();
  drawSteps();
  byId("names-status").textContent = MADE ? "No typed name of this result is left." : "Only the names of the file are left.";
});
annotations.addEventListener("changed", drawSummary);
filesRead.addEventListener("read", ({ detail: { kind } }) => {
  if (kind !== "names") return;
  namesChanged();
  if (state.view === "steps") drawSteps();
});
/** Show a new result of the server, but keep the focused field and the player. */
live.addEventListener("answer", ({ detail: { run, learned, isNew, restored } }) => {
  const picked = runCalled(state.picked);
  const stays = restored ? run !== state.run : learned && picked >= 0 && picked !== run;
  // A person who tries another number of key steps chooses its result.
  if (!learned && !restored) state.picked = factsOf(run).id;
  else if (picked < 0) state.picked = "";
  if (stays && isNew) state.offered = factsOf(run).id;
  if (!stays) {
    state.run = run;
    state.chosen = null;
  }
  offerRuns();
  drawSummary();
  drawVerdict();
  state.drawn.clear();
  // Tabs of the window draw themselves, and a focused field is not replaced.
  if (OF_WINDOW.includes(state.view)) { if (state.view === "label") showLabelling(); }
  else if (!document.activeElement?.matches("#rows input")) show(state.view);
});
document.addEventListener("keydown", (event) => {
  if (!MADE || !event.ctrlKey || event.key.toLowerCase() !== "z" || OF_WINDOW.includes(state.view) || event.defaultPrevented || event.target.closest("input")) return;
  event.preventDefault();
  byId("edit-undo").click();
});
for (const only of document.querySelectorAll(".of-window")) only.hidden = !MADE;
for (const only of document.querySelectorAll(".of-file")) only.hidden = Boolean(MADE);
if (MADE) byId("all-tasks").href = "/";
byId("cancel").addEventListener("click", () => tell("POST", "/api/run", { cancel: true }).catch(() => {}));
byId("newer").addEventListener("click", async () => {
  pauseLabelling();
  await allSent();
  location.reload();
});
byId("another-seed").addEventListener("click", addSeed);
byId("offer").querySelector("button").addEventListener("click", () => chooseRun(runCalled(state.offered)));
byId("next-label").addEventListener("click", () => {
  const [video] = suggestedVideos();
  show("label");
  labelVideo(video);
  // Keys are for labelling now.
  byId("next-label").blur();
});
startSaving();
startLabelling();
startAsking();
startGrouping();
startLive();
/** Where this tab was on the page before, and what that page showed. */
const kept = (MADE && history.state) || {};
const news = newsSince(kept.shown);
if (runCalled(kept.picked) >= 0) {
  state.run = runCalled(kept.picked);
  state.picked = kept.picked;
  const first = factsOf(0).id;
  state.offered = fromLabels(0) && news?.has(first) ? first : kept.offered || "";
  byId("run").value = String(state.run);
}
drawSummary();
drawVerdict();
startScores();
startComparison();
startGroups();
show(kept.view || "procedure");
if (kept.label) restorePlace(kept.label);
if (kept.y) window.scrollTo(0, kept.y);
byId("news").textContent = newsInWords(news);
byId("news").hidden = !byId("news").textContent;
restoreCut();
if (MADE) {
  window.addEventListener("beforeunload", () => {
    pauseLabelling();
    history.replaceState({ view: state.view, picked: state.picked, offered: state.offered, label: labelPlace(), y: window.scrollY, shown: shownResults() }, "");
  });
}
