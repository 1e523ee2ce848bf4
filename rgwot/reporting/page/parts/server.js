// Talking with the server of `rgwot open`. A page that was opened as a file has no server.

/** When the page was made, according to the server; empty if the page is a file. */
export const MADE = document.documentElement.dataset.window || "";
/** Milliseconds between two requests for the state, usually and while the server works on an answer. */
const EVERY_MS = 1000;
const SOON_MS = 200;
/** The HTTP status while an answer waits for a run, and the delay before the next request. */
const BUSY = 503;
const AGAIN_AFTER_RUN_MS = 2000;
/** Browsers send up to 64 KB for a page that is gone; a character may have three bytes. */
const KEPT_ALIVE = 20_000;

// `crypto.randomUUID` is missing on pages from another machine.
const newId = () => Math.random().toString(36).slice(2);
/** The id of this window, by which the server counts windows. */
const ME = (() => {
  try {
    if (!sessionStorage.getItem("rgwot window")) sessionStorage.setItem("rgwot window", newId());
    return sessionStorage.getItem("rgwot window");
  } catch {
    return newId();
  }
})();
/** The id of this page in its window; the server takes no request of a page that was closed for an open window. */
let idOfPage = newId();

/** Request a path; returns the content, or throws an error with `status` (0 without an answer) and `content`. */
async function answered(request) {
  let response;
  try {
    response = await request;
  } catch {
    throw Object.assign(new Error("The server does not answer; it may have been ended."), { status: 0, content: {} });
  }
  const json = (response.headers.get("content-type") || "").startsWith("application/json");
  const content = json ? await response.json() : {};
  if (!response.ok) throw Object.assign(new Error(content.error || `The server answered with ${response.status}.`), { status: response.status, content });
  return content;
}

export const ask = (path) => answered(fetch(path));
/** Call `again` later if the server could not answer because a run is writing the results. */
export const afterRun = ({ status }, again) => { if (status === BUSY) setTimeout(again, AGAIN_AFTER_RUN_MS); };
export function tell(method, path, content) {
  const body = JSON.stringify(content);
  // A page that is closed or loaded anew still sends what it has told, if that is short.
  return answered(fetch(path, { method, headers: { "content-type": "application/json" }, body, keepalive: body.length < KEPT_ALIVE }));
}

/**
 * Call `show` with the state of the server again and again, or with null if the server does not answer.
 * @param {(told: any) => boolean | void} show returns whether the page waits for an answer
 */
export function watchServer(show) {
  const look = () => ask(`/api/state?window=${ME}&page=${idOfPage}&hidden=${document.hidden}`).catch((error) => (error.status ? { problem: error.message } : null)).then(show)
    .then((waits) => setTimeout(look, waits ? SOON_MS : EVERY_MS), () => setTimeout(look, EVERY_MS));
  look();
  window.addEventListener("pagehide", () => navigator.sendBeacon("/api/closed", new Blob([JSON.stringify({ window: ME, page: idOfPage })], { type: "application/json" })));
  // The browser may keep a page, and show it again.
  window.addEventListener("pageshow", ({ persisted }) => { if (persisted) idOfPage = newId(); });
}

/** A path of a task below another path. */
export const below = (path, dataset, task, ...more) => [path, dataset, task, ...more].map((part, at) => (at ? encodeURIComponent(part) : part)).join("/");
