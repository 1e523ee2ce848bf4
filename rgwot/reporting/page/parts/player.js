// The player of videos. The page has only links to the videos, so a video plays if it is still at the same place
// relative to the page. While a video plays, the player sends the event "played". In a wide window, the place of the
// player is kept free (class `docks`), so that nothing moves when it opens and closes.

import { byId, make } from "./dom.js";
import { hidePopup } from "./popup.js";
import { fullLabel, occurrencesOf } from "./results.js";
import { ask, below, MADE } from "./server.js";
import { DATA, state } from "./state.js";
import { clock, when } from "./text.js";

export const player = byId("player");

const AGAIN_AFTER_MS = 1000;
/** A playing video reports its time at least this often, in seconds; a longer step is a jump by a person. */
const TOLD_S = 1;

/** The address of a video: at the server, which makes every video playable, or relative to the file of the page. */
export const sourceOf = (video) => {
  const { id, file, pictured } = DATA.videos[video];
  return MADE ? (pictured ? below("/video", DATA.dataset, DATA.task, id) : null) : file;
};

document.body.classList.toggle("docks", DATA.videos.some((_, video) => sourceOf(video)));

/**
 * Open a video at the time `seconds`. Returns an object with its `element`, its `origin` (the time of the first frame
 * on the file's own clock), and `begun`, whether the origin is known. Times count from the first frame, which is shown
 * before the video plays or is elsewhere: what a person wishes until then (`goTo`, `setPlaying`) is done afterwards.
 * @param {(reason: string) => void} failed
 */
export function opened(video, seconds, plays, failed = () => {}) {
  const element = make("video", { controls: true, preload: "auto", muted: false, playsInline: true });
  const clip = { video, element, origin: 0, begun: false, seconds, plays, until: null };
  let waited = "";
  const start = (_, shown) => {
    if (!element.getAttribute("src")) return;
    clip.origin = shown.mediaTime;
    clip.begun = true;
    goTo(clip, clip.seconds);
    if (clip.plays) setPlaying(clip, true);
  };
  element.addEventListener("error", async () => {
    const where = MADE && element.getAttribute("src");
    if (!where) return failed("");
    // The server makes a copy that plays, which takes a while.
    const { ready, fault } = await ask(where.replace("/video/", "/api/playable/")).catch(({ message }) => ({ fault: message }));
    if (fault || (ready && waited === "ready")) return failed(fault || "This browser cannot play the video.");
    if (!ready) failed("A copy that browsers can play is being made; it plays when it is ready.");
    waited = ready ? "ready" : "making";
    return setTimeout(() => { if (element.getAttribute("src")) element.src = where; }, AGAIN_AFTER_MS);
  });
  if (element.requestVideoFrameCallback) element.requestVideoFrameCallback(start);
  else element.addEventListener("loadedmetadata", (event) => start(event, { mediaTime: 0 }), { once: true });
  element.src = sourceOf(video);
  return clip;
}

/** The time of a video, in seconds from its first frame. */
export const timeOf = ({ element, origin, begun, seconds }) => (begun ? element.currentTime - origin : seconds);

export const isPlaying = ({ element, begun, plays }) => !element.paused || (!begun && plays);

export function goTo(clip, seconds) {
  if (clip.begun) clip.element.currentTime = clip.origin + seconds;
  else clip.seconds = seconds;
}

export function setPlaying(clip, plays) {
  if (!clip.begun) clip.plays = plays;
  if (!plays) clip.element.pause();
  else if (clip.begun) clip.element.play().catch(() => {});
}

/** Unload a video, so that nothing more of it is fetched. */
export function release({ element }) {
  element.pause();
  element.removeAttribute("src");
  element.load();
}

/** Play the whole occurrence of a key step that contains the time `seconds`, or from this time if there is none. */
export function playStep(run, step, video, seconds, from) {
  const [start, end] = occurrencesOf(video, run).find(([first, last, own]) => own === step && first <= seconds && seconds < last) || [seconds, null];
  playFrom(video, start, from, `${fullLabel(run, step)}, ${end ? when(start, end) : `from ${clock(start)}`}`, end);
}

/** Play a video from a time, `until` another one if it is given; `what` is the title, and `from` the clicked element. */
export function playFrom(video, seconds, from = null, what = `from ${clock(seconds)}`, until = null) {
  const facts = DATA.videos[video];
  state.opener = from;
  hidePopup();
  if (!sourceOf(video)) {
    const why = facts.pictured === false ? "holds features; there is no video to play" : "holds stored frames, which a browser cannot play";
    showPlayer(facts, what, missing(`${facts.path} ${why}.`));
    return;
  }
  if (state.playing && state.playing.video === video && state.playing.element.isConnected && !state.playing.element.error) {
    state.playing.until = until;
    goTo(state.playing, seconds);
    setPlaying(state.playing, true);
    head(facts, what);
    settlePlayer();
    return;
  }
  stopPlayer(false);
  const playing = opened(video, seconds, true, (why) => {
    if (MADE) byId("player-title").textContent = why;
    else showPlayer(facts, what, missing(`${facts.path} is not at hand, or this browser cannot play its format. The page looks for it at ${decodeURI(facts.file)}, relative to itself.`));
  });
  const { element } = playing;
  playing.until = until;
  // The player has its height before the video is there.
  element.style.aspectRatio = String(facts.aspect);
  // If there are several picture tracks, the browser chooses one, which is recognised if both sides differ: non-square
  // pixels change one side. The server's copies are scaled, but have the right track.
  element.addEventListener("loadedmetadata", () => {
    const { videoWidth, videoHeight } = element;
    if (!MADE && videoWidth && facts.size[0] && videoWidth !== facts.size[0] && videoHeight !== facts.size[1]) {
      player.append(missing(`This browser shows another picture track (${videoWidth}x${videoHeight}) than the one of the key steps (${facts.size.join("x")}).`));
    }
  }, { once: true });
  // An event may still be on its way when the player is closed.
  element.addEventListener("timeupdate", () => {
    if (!state.playing || state.playing.element !== element) return;
    mark(video, timeOf(state.playing));
    stopInTime(playing);
    player.dispatchEvent(new Event("played"));
  });
  state.playing = playing;
  showPlayer(facts, what, element);
}

/** Pause at the end of what is played; whoever plays on or jumps elsewhere sees the rest of the video. */
function stopInTime(playing) {
  const { element, origin, begun, until } = playing;
  if (!begun || until === null || element.paused) return;
  const rest = origin + until - element.currentTime;
  if (rest > 0 && rest < TOLD_S) setTimeout(() => stopInTime(playing), Math.max(10, (1000 * rest) / element.playbackRate));
  if (rest > 0) return;
  playing.until = null;
  if (rest > -TOLD_S) element.pause();
}

const missing = (text) => make("p", { className: "notice", textContent: text });

function showPlayer(facts, what, content) {
  const close = make("button", { type: "button", className: "play", textContent: "Close" });
  close.addEventListener("click", () => stopPlayer());
  const title = make("div", { id: "player-title", role: "status" });
  player.replaceChildren(make("div", { className: "head" }, title, close), content);
  player.hidden = false;
  head(facts, what);
  settlePlayer();
}

/** In a narrow window the player goes to the other edge if it would cover what was clicked. */
function settlePlayer() {
  if (!state.opener?.isConnected) return;
  const box = state.opener.getBoundingClientRect();
  const covers = () => { const own = player.getBoundingClientRect(); return box.bottom > own.top && box.top < own.bottom && box.right > own.left && box.left < own.right; };
  if (covers()) player.classList.toggle("above");
  if (covers()) player.classList.remove("above");
}

function head({ name }, what) {
  byId("player-title").textContent = `${name}, ${what}`;
}

export function stopPlayer(back = true) {
  if (state.playing) {
    release(state.playing);
    mark(state.playing.video, null);
    state.playing = null;
  }
  player.hidden = true;
  player.replaceChildren();
  if (back && state.opener && state.opener.isConnected) state.opener.focus({ preventScroll: true });
}

/** Move the line that marks the playing time. */
function mark(video, seconds) {
  for (const axis of document.querySelectorAll(`[data-video="${video}"] .axis`)) {
    const line = axis.querySelector(".playhead");
    if (seconds === null) line?.remove();
    else (line || axis.appendChild(make("div", { className: "playhead" }))).style.left = `${(100 * seconds) / DATA.videos[video].duration}%`;
  }
}
