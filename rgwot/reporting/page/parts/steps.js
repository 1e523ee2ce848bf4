// The tab of key steps: rows of typical frames with a field for a name, and the orders in which key steps come.

import { byId, make, table } from "./dom.js";
import { closeExamples, examplesOf, playExamples } from "./examples.js";
import { chip, chips } from "./looks.js";
import { playStep } from "./player.js";
import { shot, shotsOf, typicalOf } from "./procedure.js";
import { LONGEST_NAME, bodyOf, hasBackground, inOrder, fromLabels, matchInWords, nameOf, occurrencesOf, ownView, place, rename, runTitle, stepsOf, stepTitle } from "./results.js";
import { isOneOrder, stepNumbers } from "./segments.js";
import { MADE } from "./server.js";
import { DATA, state } from "./state.js";
import { clock, percent, plural } from "./text.js";

const MANY_PROCEDURES = 20;

export function drawSteps() {
  const run = state.run;
  const rows = byId("rows");
  closeExamples();
  const view = ownView(run);
  const note = view ? null : make("p", {
    className: "notice",
    textContent: "Typical frames are shown for the first try of a method.",
  });
  const numbers = stepNumbers(stepsOf(run), DATA.videos.map((_, at) => occurrencesOf(at, run)));
  const background = hasBackground(run) ? backgroundRow(run) : null;
  const typical = stepsOf(run).some((step) => typicalOf(run, step).length);
  const pictures = DATA.videos.some(({ strip }) => strip);
  byId("frames-are").textContent = typical ? "These frames are nearest to the mean of each key step, from different videos first." : !pictures ? "" : "These frames are from the longest occurrence of each key step in some videos.";
  rows.replaceChildren(...[note, ...inOrder(run).map((step) => stepRow(run, step, view, numbers.get(step))), background].filter(Boolean));
}

/** Frames from the strips of videos. */
const shownFrames = (run, step) => shotsOf(run, step).map(([at, seconds]) => frameButton(run, step, at, DATA.videos[at].name, seconds, shot(at, seconds, null)));

/** Frames of the result's own background, which has no name. */
function backgroundRow(run) {
  const frames = shownFrames(run, 0);
  return make("article", { className: "keystep", data: { step: "0" } },
    make("div", { className: "head" }, make("h3", { textContent: "Background" }), chip(run, 0, "background")),
    make("p", { className: "hint", textContent: "Frames that belong to no key step in this result." }),
    frames.length ? make("div", { className: "frames" }, ...frames) : null,
  );
}

/** The name that a person gave to a step; a number in words, which labelling by key makes, does not count. */
const ownName = (run, step) => (/^key step \d+$/.test(nameOf(run, step)) ? "" : nameOf(run, step));

/** The number of a key step, and its name; the name alone if it was learned from labels. */
const titleOf = (run, step) => (fromLabels(run) ? stepTitle(run, step) : `Key step ${step}${ownName(run, step) ? `: ${ownName(run, step)}` : ""}`);

function stepRow(run, step, view, numbers) {
  const input = make("input", {
    type: "text",
    value: ownName(run, step),
    maxLength: LONGEST_NAME,
    autocomplete: "off",
    placeholder: "name it",
    aria: { label: `Name of key step ${step}` },
    data: { step: String(step) },
  });
  const tag = chip(run, step, String(step));
  const title = make("h3", { textContent: titleOf(run, step) });
  input.addEventListener("input", () => {
    rename(run, step, input.value);
    title.textContent = titleOf(run, step);
  });
  input.addEventListener("change", () => {
    input.value = ownName(run, step);
    byId("names-status").textContent = MADE ? "" : "Kept in this browser. Download the file to keep it for good.";
  });
  const told = [
    plural(numbers.segments, "occurrence"),
    `in ${plural(numbers.videos, "video")}`,
    `${clock(numbers.seconds, 0)} in all`,
    state.annotated && !fromLabels(run) ? matchInWords(run, step) : "",
  ].filter(Boolean).join(", ");
  const typical = view ? typicalOf(run, step).map((frame) => typicalFrame(run, step, frame)) : [];
  const frames = typical.length ? typical : shownFrames(run, step);
  const examples = examplesOf(run, step).length;
  const all = make("button", { type: "button", className: "play", textContent: "Play all side by side" });
  const row = make("article", { className: "keystep", data: { step: String(step) } },
    make("div", { className: "head" }, title, tag, input, examples ? all : null),
    make("p", { className: "hint", textContent: told }),
    frames.length ? make("div", { className: "frames" }, ...frames) : null,
  );
  all.addEventListener("click", () => playExamples(run, step, row));
  return row;
}

function typicalFrame(run, step, frame) {
  const at = place.get(frame.video);
  const name = at === undefined ? frame.video : DATA.videos[at].name;
  const picture = frame.picture
    ? make("img", { src: `data:image/jpeg;base64,${frame.picture}`, alt: "", height: 120 })
    : make("span", { className: "blank", textContent: "no picture" });
  return frameButton(run, step, at, name, frame.time_s, picture);
}

/** A picture that plays its key step, if the page has the video. */
function frameButton(run, step, at, name, seconds, picture) {
  const text = `${name}, ${clock(seconds)}`;
  const button = make("button", { type: "button", title: text, aria: { label: `Play ${text}` }, disabled: at === undefined }, picture, make("span", { textContent: text }));
  button.addEventListener("click", () => playStep(run, step, at, seconds, button));
  return button;
}

export function drawOrders() {
  const run = state.run;
  const parts = [procedureTable(`Found: ${runTitle(run)}`, run, bodyOf(run).procedures)];
  if (DATA.true_procedures.length) parts.push(procedureTable("Annotated", -1, DATA.true_procedures));
  byId("procedures").replaceChildren(...parts);
}

function procedureTable(title, run, procedures) {
  const total = procedures.reduce((sum, one) => sum + one.n, 0);
  const rows = procedures.slice(0, MANY_PROCEDURES).map(({ order, n }, at) => {
    const share = make("span", { className: "share" });
    share.style.width = `${(80 * n) / total}px`;
    return make("tr", {},
      make("td", { textContent: String(at + 1) }),
      make("td", { className: "wrap text" }, chips(run, order)),
      make("td", { className: "text" }, share, `${n} of ${total} (${percent(n / total)})`));
  });
  const rest = procedures.length - rows.length;
  const alike = procedures.length > 1 && isOneOrder(procedures.map(({ order }) => order));
  const found = `${plural(procedures.length, alike ? "sequence" : "order")} in ${plural(total, "video")}`;
  return make("div", {},
    make("h3", { textContent: `${title}: ${found}${alike ? " of one order, with key steps left out" : ""}` }),
    table(title, ["Rank", "Procedure", "Videos"], rows),
    rest > 0 ? make("p", { className: "hint", textContent: `and ${plural(rest, "more order")}, each in at most as many videos as the last one` }) : null);
}
