// All examples of a key step play side by side, each from its start; all start again when the last example has ended.

import { make, offer } from "./dom.js";
import { drawPicture, pictureAt, sharp, stripOf } from "./looks.js";
import { opened, release, sourceOf, stopPlayer } from "./player.js";
import { occurrencesOf, sameStep } from "./results.js";
import { DATA } from "./state.js";
import { clock, plural } from "./text.js";

/** More players at a time would stutter. */
const MOST_PLAYERS = 12;
const REPEAT_MS = 700;
const LOOK_MS = 50;
const EXAMPLE_SPEEDS = [0.5, 1, 2, 4];
let closeShown = () => {};

/** The occurrences of a step in the videos that can be played, as [video, start, end]. */
export const examplesOf = (run, step) => DATA.videos.flatMap((_, video) => (sourceOf(video)
  ? occurrencesOf(video, run).filter((event) => sameStep(run, event[2]) === step).map(([start, end]) => [video, start, end])
  : []));

/** Give a player the size of its video, and the picture at its start until the video is there. */
function dress({ video, element }, start) {
  const { aspect } = DATA.videos[video];
  element.style.aspectRatio = String(aspect);
  stripOf(video).then((image) => {
    if (!image) return;
    const [canvas, height] = [make("canvas"), image.naturalHeight];
    drawPicture(sharp(canvas, height * aspect, height), image, pictureAt(video, start), 0, 0, height * aspect, height);
    element.style.backgroundImage = `url(${canvas.toDataURL("image/jpeg")})`;
  });
}

/** Stop the players and remove them. */
export const closeExamples = () => closeShown();

/** Play the examples of a step at the end of `row`, `MOST_PLAYERS` at a time. */
export function playExamples(run, step, row, first = 0) {
  const { top } = row.getBoundingClientRect();
  closeShown();
  // Other examples that are closed above must not move what was clicked.
  window.scrollBy(0, row.getBoundingClientRect().top - top);
  stopPlayer(false);
  const all = examplesOf(run, step);
  const players = all.slice(first, first + MOST_PLAYERS).map(([video, start, end]) => {
    const player = { start, end, state: "waits" };
    player.clip = opened(video, start, false, () => { player.state = "fails"; });
    Object.assign(player.clip.element, { controls: false, muted: true });
    dress(player.clip, start);
    return player;
  });
  const of = (kind) => players.filter(({ state: own }) => own === kind);
  const pause = make("button", { type: "button", textContent: "Pause" });
  const speed = make("select", { ariaLabel: "Speed" });
  offer(speed, EXAMPLE_SPEEDS.map((rate) => [rate, `${rate} ×`]));
  speed.value = "1";
  let paused = false;
  let since = 0;
  const begin = () => {
    for (const player of players) {
      if (player.state === "fails") continue;
      player.state = "waits";
      if (player.clip.begun) player.clip.element.currentTime = player.clip.origin + player.start;
    }
  };
  const look = () => {
    for (const player of of("plays")) {
      const { element, origin } = player.clip;
      if (element.currentTime - origin < player.end && !element.ended) continue;
      element.pause();
      player.state = "ended";
      since = performance.now();
    }
    if (paused) return;
    // Start all players at once, when each shows its first picture.
    if (of("waits").length && of("waits").every(({ clip }) => clip.begun && !clip.element.seeking && clip.element.readyState >= 2)) {
      for (const player of of("waits")) {
        player.state = "plays";
        player.clip.element.playbackRate = Number(speed.value);
        player.clip.element.play().catch(() => { player.state = "fails"; });
      }
    } else if (!of("waits").length && !of("plays").length && of("ended").length && performance.now() - since > REPEAT_MS) begin();
  };
  const timer = setInterval(look, LOOK_MS);
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Play" : "Pause";
    for (const { clip: { element } } of of("plays")) if (paused) element.pause(); else element.play().catch(() => {});
  });
  speed.addEventListener("change", () => { for (const { clip: { element } } of players) element.playbackRate = Number(speed.value); });
  const button = (textContent, act) => {
    const control = make("button", { type: "button", textContent });
    control.addEventListener("click", act);
    return control;
  };
  const others = all.length > MOST_PLAYERS ? [button(`Others (${first + 1} to ${first + players.length} of ${all.length} are shown)`, () => playExamples(run, step, row, first + MOST_PLAYERS < all.length ? first + MOST_PLAYERS : 0))] : [];
  const panel = make("div", { role: "group", aria: { label: plural(players.length, "example") } },
    make("div", { className: "controls" }, pause, button("From the start", begin), make("label", {}, "Speed ", speed), ...others, button("Close", () => closeShown())),
    make("div", { className: "examples" }, ...players.map(({ clip: { video, element }, start, end }) => make("figure", {},
      element, make("figcaption", { textContent: `${DATA.videos[video].name}, ${clock(start)} to ${clock(end)}` })))));
  closeShown = () => {
    clearInterval(timer);
    for (const { clip } of players) release(clip);
    panel.remove();
    closeShown = () => {};
  };
  row.append(panel);
}
