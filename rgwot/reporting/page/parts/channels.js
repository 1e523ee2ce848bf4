// Channels of features around a moment, in the place of a player, for videos that are features alone.

import { make, offer } from "./dom.js";
import { sharp } from "./looks.js";
import { ask, below } from "./server.js";
import { tickTimes } from "./segments.js";
import { DATA } from "./state.js";
import { clock } from "./text.js";

/** Seconds that are seen at a time, and the height of the drawing in pixels. */
const SEEN_S = 20;
const HIGH = 260;
const LINES = ["#004c8c", "#a34700", "#14532d", "#6b2d84"];
const DASHES_OF_LINES = [[], [6, 3], [2, 3]];

/** Make the drawing of a video's channels: its `element`, and `show`, which centres it on a time in seconds. */
export function channelsOf(video, report) {
  const { id, duration } = DATA.videos[video];
  const canvas = make("canvas", { className: "channels", role: "img", aria: { label: `channels of ${DATA.videos[video].name}` } });
  const choice = make("select", { multiple: true, size: 4, ariaLabel: "Channels" });
  const names = make("p", { className: "hint" });
  let drawn = null;
  let middle = 0;
  const load = (chosen) => ask(`${below("/api/channels", DATA.dataset, DATA.task, id)}?chosen=${chosen.join(",")}`).then((found) => {
    drawn = found;
    if (!choice.options.length) {
      offer(choice, found.names.map((name, at) => [at, name]));
      for (const at of found.chosen) choice.options[at].selected = true;
    }
    names.textContent = found.chosen.map((at) => found.names[at]).join(", ");
    draw();
  }).catch((error) => report(error.message));
  choice.addEventListener("change", () => load([...choice.selectedOptions].map(({ value }) => value)));
  function draw() {
    const { width } = canvas.getBoundingClientRect();
    if (!drawn || !width) return;
    const pen = sharp(canvas, width, HIGH);
    const from = middle - SEEN_S / 2;
    const x = (time) => ((time - from) / SEEN_S) * width;
    const band = (HIGH - 18) / Math.max(1, drawn.values.length);
    drawn.values.forEach((values, at) => {
      const [low, high] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
      pen.strokeStyle = LINES[at % LINES.length];
      pen.setLineDash(DASHES_OF_LINES[Math.floor(at / LINES.length) % DASHES_OF_LINES.length]);
      pen.lineWidth = 1.5;
      pen.beginPath();
      drawn.time_s.forEach((time, n) => { if (time > from - 1 && time < from + SEEN_S + 1) pen.lineTo(x(time), (at + 0.95) * band - ((values[n] - low) / (high - low || 1)) * 0.9 * band); });
      pen.stroke();
      pen.setLineDash([]);
      pen.fillStyle = LINES[at % LINES.length];
      pen.font = "12px sans-serif";
      pen.fillText(drawn.names[drawn.chosen[at]], 4, at * band + 12);
    });
    pen.fillStyle = "#505050";
    for (const time of tickTimes(duration, (10 * duration) / SEEN_S)[1]) if (time >= from && time <= from + SEEN_S) pen.fillText(clock(time, 0), x(time) + 2, HIGH - 4);
    pen.fillStyle = "#d100b5";
    pen.fillRect(width / 2 - 1, 0, 2, HIGH);
  }
  load([]);
  return { element: make("div", {}, canvas, make("label", { className: "hint" }, "Channels ", choice), names), show: (seconds) => { middle = seconds; draw(); } };
}
