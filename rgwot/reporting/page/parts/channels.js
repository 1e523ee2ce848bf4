// Channels of features around a moment, drawn instead of a player for recordings without a video. Each channel has a
// band that spans its least to its greatest value in the whole recording, and shows its value at the moment.

import { make, offer, recall, remember } from "./dom.js";
import { colourOfLook, sharp } from "./looks.js";
import { lookOfName } from "./names.js";
import { isMark, tickTimes } from "./segments.js";
import { ask, below } from "./server.js";
import { DATA } from "./state.js";
import { clock, inRange } from "./text.js";

/** Choices of the visible seconds; the whole recording is another choice. */
const SEEN_S = [5, 10, 20, 60, 300];
/** In pixels: the height of all bands, at least `BAND` for each, and space for times below and values beside them. */
const HIGH = 260;
const BAND = 44;
const BELOW = 18;
const BESIDE = 58;
const KEPT_CHANNELS = `rgwot channels ${DATA.dataset}/${DATA.task}`;
/** The choices made in this browser: channels by number, and visible seconds (0: all, as JSON has no Infinity). */
const channelChoice = { channels: [], seen: 20, ...recall(KEPT_CHANNELS, null)?.channelChoice };

function keepChoice(changed) {
  Object.assign(channelChoice, changed);
  remember(KEPT_CHANNELS, JSON.stringify({ base: null, channelChoice }));
}

/** The index of the last of ascending times that is at or before `time`; 0 if there is none. */
function placeAt(times, time) {
  let [low, high] = [0, times.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Make the drawing of a video's channels: its `element`, and `show`, which goes to a time in seconds and draws labels
 * [start, end, name] in milliseconds behind the channels. A click on the drawing calls `seek` with its time in seconds.
 */
export function channelsOf(video, report, seek = null) {
  const { id, name, duration } = DATA.videos[video];
  const canvas = make("canvas", { className: "channels", role: "img", aria: { label: `channels of ${name}` } });
  const boxes = make("div", { className: "choices" });
  const title = make("summary", { textContent: "Channels" });
  const width = make("select", { ariaLabel: "Seconds seen" });
  let drawn = null;
  let [moment, rows] = [0, []];

  const seen = () => Math.min(duration, channelChoice.seen || duration);
  const from = () => Math.max(0, Math.min(duration - seen(), moment - seen() / 2));
  const load = () => ask(`${below("/api/channels", DATA.dataset, DATA.task, id)}?chosen=${channelChoice.channels.join(",")}`).then((answer) => {
    drawn = answer;
    title.textContent = `Channels (${answer.chosen.length} of ${answer.names.length})`;
    if (!boxes.childElementCount) boxes.append(...answer.names.map(box));
    const full = answer.chosen.length >= answer.most;
    for (const input of boxes.querySelectorAll("input")) {
      input.checked = answer.chosen.includes(Number(input.value));
      input.disabled = full && !input.checked;
    }
    draw();
  }).catch((error) => report(error.message));

  function box(text, at) {
    const input = make("input", { type: "checkbox", value: String(at) });
    input.addEventListener("change", () => {
      keepChoice({ channels: [...boxes.querySelectorAll(":checked")].map(({ value }) => Number(value)) });
      load();
    });
    return make("label", {}, input, ` ${text}`);
  }

  function draw() {
    const wide = canvas.getBoundingClientRect().width;
    if (!drawn || !wide) return;
    const many = Math.max(1, drawn.values.length);
    const band = Math.max(BAND, HIGH / many);
    const high = many * band;
    canvas.style.height = `${high + BELOW}px`;
    const pen = sharp(canvas, wide, high + BELOW);
    pen.font = "12px sans-serif";
    const x = (seconds) => BESIDE + ((seconds - from()) / seen()) * (wide - BESIDE);
    pen.save();
    pen.beginPath();
    pen.rect(BESIDE, 0, wide - BESIDE, high + BELOW);
    pen.clip();
    drawRows(pen, x, high);
    const [step, ticks] = tickTimes(duration, Math.max(2, (wide / 90) * (duration / seen())));
    for (const time of ticks) {
      pen.fillStyle = "#c4c4c4";
      pen.fillRect(x(time), 0, 1, high);
      pen.fillStyle = "#505050";
      pen.fillText(clock(time, step < 1 ? 1 : 0), x(time) + 3, high + 13);
    }
    drawn.values.forEach((values, at) => drawChannel(pen, x, at, at * band, band));
    pen.fillStyle = "#d100b5";
    pen.fillRect(x(moment) - 1, 0, 2, high + BELOW);
    pen.restore();
    drawn.values.forEach((_, at) => drawScale(pen, at, at * band, band, wide));
  }

  /** Draw labels behind the channels: spans in pale colours, and a line at every start and every mark. */
  function drawRows(pen, x, high) {
    for (const [start, end, label] of rows) {
      if (end / 1000 < from() || start / 1000 > from() + seen()) continue;
      const colour = colourOfLook(lookOfName(label));
      pen.fillStyle = colour;
      pen.globalAlpha = 0.22;
      if (!isMark([start, end])) pen.fillRect(x(start / 1000), 0, x(end / 1000) - x(start / 1000), high);
      pen.globalAlpha = 1;
      pen.fillRect(x(start / 1000), 0, 2, high);
    }
  }

  /** Draw the curve of a channel; where several samples share a pixel, it spans their least to their greatest value. */
  function drawChannel(pen, x, at, top, band) {
    const values = drawn.values[at];
    const [low, high] = drawn.ranges[at];
    const y = (value) => top + band - 4 - ((value - low) / (high - low || 1)) * (band - 22);
    const [first, last] = [placeAt(drawn.time_s, from()), Math.min(values.length - 1, placeAt(drawn.time_s, from() + seen()) + 1)];
    pen.strokeStyle = "#004c8c";
    pen.lineWidth = 1.25;
    pen.beginPath();
    for (let n = first; n <= last;) {
      const pixel = Math.floor(x(drawn.time_s[n]));
      let [least, most] = [values[n], values[n]];
      pen.lineTo(x(drawn.time_s[n]), y(values[n]));
      for (n += 1; n <= last && Math.floor(x(drawn.time_s[n])) === pixel; n += 1) {
        least = Math.min(least, values[n]);
        most = Math.max(most, values[n]);
      }
      if (least < most) {
        pen.lineTo(pixel, y(least));
        pen.lineTo(pixel, y(most));
      }
    }
    pen.stroke();
  }

  /** Write the name of a channel, its value at the moment and, beside the band, its least and greatest value. */
  function drawScale(pen, at, top, band, wide) {
    const [low, high] = drawn.ranges[at];
    pen.fillStyle = "#8a8a8a";
    if (at) pen.fillRect(0, top, wide, 1);
    pen.fillStyle = "#505050";
    pen.textAlign = "right";
    pen.fillText(inRange(high, high - low), BESIDE - 5, top + 24);
    pen.fillText(inRange(low, high - low), BESIDE - 5, top + band - 4);
    pen.textAlign = "left";
    const text = `${drawn.names[drawn.chosen[at]]}  ${inRange(drawn.values[at][placeAt(drawn.time_s, moment)], high - low)}`;
    pen.font = "600 12px sans-serif";
    pen.fillStyle = "#ffffffd9";
    pen.fillRect(BESIDE + 2, top + 2, pen.measureText(text).width + 8, 15);
    pen.fillStyle = "#1a1a1a";
    pen.fillText(text, BESIDE + 6, top + 13);
    pen.font = "12px sans-serif";
  }

  offer(width, [...SEEN_S.filter((choice) => choice < duration).map((choice) => [choice, choice < 60 ? `${choice} s` : `${choice / 60} min`]), [0, "the whole"]]);
  width.value = String(SEEN_S.includes(channelChoice.seen) && channelChoice.seen < duration ? channelChoice.seen : 0);
  width.addEventListener("change", () => { keepChoice({ seen: Number(width.value) }); width.blur(); draw(); });
  canvas.addEventListener("click", ({ offsetX }) => seek?.(from() + Math.max(0, (offsetX - BESIDE) / (canvas.clientWidth - BESIDE)) * seen()));
  new ResizeObserver(draw).observe(canvas);
  load();
  const element = make("div", {}, canvas, make("div", { className: "controls" }, make("label", {}, "Seen ", width), make("details", {}, title, boxes)));
  const show = (seconds, labels = []) => {
    [moment, rows] = [seconds, labels];
    draw();
  };
  return { element, show };
}
