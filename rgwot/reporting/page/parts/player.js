// Plays a video from a given time, if its file is still where it was relative to the page.

const player = byId("player");
let playing = null;
let opener = null;

function playFrom(video, seconds, from = null) {
  const facts = DATA.videos[video];
  opener = from;
  hidePopup();
  if (!facts.file) {
    const why = facts.pictured === false ? "holds features; there is no video to play" : "holds stored frames, which a browser cannot play";
    showPlayer(facts, seconds, missing(`${facts.path} ${why}.`));
    return;
  }
  if (playing && playing.video === video && playing.element.isConnected && !playing.element.error) {
    playing.element.currentTime = playing.origin + seconds;
    playing.element.play().catch(() => {});
    head(facts, seconds);
    return;
  }
  stopPlayer(false);
  const element = make("video", { controls: true, preload: "auto", muted: false, playsInline: true });
  // Times count from the first frame, which is shown before it plays, wherever the file's own clock starts.
  const start = (_, shown) => {
    if (!playing || playing.element !== element) return;
    playing.origin = shown.mediaTime;
    element.currentTime = playing.origin + seconds;
    element.play().catch(() => {});
  };
  if (element.requestVideoFrameCallback) element.requestVideoFrameCallback(start);
  else element.addEventListener("loadedmetadata", (event) => start(event, { mediaTime: 0 }), { once: true });
  element.addEventListener("error", () => {
    showPlayer(facts, seconds, missing(`${facts.path} is not at hand, or this browser cannot play its format. The page looks for it at ${decodeURI(facts.file)}, relative to itself.`));
  });
  // An event may still be on its way when the player is closed.
  element.addEventListener("timeupdate", () => {
    if (!playing || playing.element !== element) return;
    mark(video, element.currentTime - playing.origin);
    follow();
  });
  element.src = facts.file;
  playing = { video, element, origin: 0 };
  showPlayer(facts, seconds, element);
}

const missing = (text) => make("p", { className: "notice", textContent: text });

function showPlayer(facts, seconds, content) {
  const close = make("button", { type: "button", className: "play", textContent: "Close" });
  close.addEventListener("click", () => stopPlayer());
  const title = make("div", { id: "player-title", role: "status" });
  player.replaceChildren(make("div", { className: "head" }, title, close), content);
  player.hidden = false;
  head(facts, seconds);
}

function head(facts, seconds) {
  byId("player-title").textContent = `${facts.name}, from ${clock(seconds)}`;
}

function stopPlayer(back = true) {
  if (playing) {
    playing.element.pause();
    playing.element.removeAttribute("src");
    playing.element.load();
    mark(playing.video, null);
    playing = null;
  }
  player.hidden = true;
  player.replaceChildren();
  if (back && opener && opener.isConnected) opener.focus();
}

/** Move the line that shows what is playing. */
function mark(video, seconds) {
  for (const axis of document.querySelectorAll(`[data-video="${video}"] .axis`)) {
    const line = axis.querySelector(".playhead");
    if (seconds === null) line?.remove();
    else (line || axis.appendChild(make("div", { className: "playhead" }))).style.left = `${(100 * seconds) / DATA.videos[video].duration}%`;
  }
}
