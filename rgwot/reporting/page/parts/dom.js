// Making elements, storing text in the browser and downloading files. No text becomes markup: elements are made one by
// one, and texts are set as text.

/** The element of the template with this id; the template says of which kind it is.
 * @type {(id: string) => any} */
export const byId = (id) => document.getElementById(id);

/** Make an element; `properties` are DOM properties, `data` its data-, `aria` its aria- attributes.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} properties
 * @param {...any} children
 * @returns {HTMLElementTagNameMap[Tag]} */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  const { data = {}, aria = {}, role, ...rest } = properties;
  Object.assign(element, rest);
  for (const [key, value] of Object.entries(data)) element.dataset[key] = value;
  for (const [key, value] of Object.entries(aria)) element.setAttribute(`aria-${key}`, value);
  if (role) element.setAttribute("role", role);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** What all tabs of this browser share, and what a tab keeps until it is closed. */
const BROWSER = "localStorage";
export const TAB = "sessionStorage";

/** Read what this browser, or tab, stores under a key; null if there is nothing, or it is based on another state of the file. */
export function recall(key, base, store = BROWSER) {
  try {
    const kept = JSON.parse(window[store].getItem(key) || "null");
    return kept && JSON.stringify(kept.base) === JSON.stringify(base) ? kept : null;
  } catch {
    // Without storage, as in some private windows, changes last as long as the page.
    return null;
  }
}

/** Store a text in this browser, or tab, under a key; null removes what is stored. */
export function remember(key, text, store = BROWSER) {
  try {
    if (text === null) window[store].removeItem(key);
    else window[store].setItem(key, text);
  } catch {
    // See recall.
  }
}

/** Download a text as a file. */
export function download(text, type, name) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Whether a key belongs to the focused element, such as a text field, and is not a command of the page. */
export const isTyped = ({ target, key }) => Boolean(target.closest("input[type=text], select, summary")) || (key === " " && target.matches("input[type=checkbox]"));

const parsed = new Map();
/** Read a block of JSON of the page, once and only when it is needed. */
export function block(id) {
  if (!parsed.has(id)) {
    const element = byId(id);
    parsed.set(id, element ? JSON.parse(element.textContent) : null);
  }
  return parsed.get(id);
}

/** Replace a block of the page by newer content. */
export const setBlock = (id, content) => parsed.set(id, content);

/** Make an element span the time from `start` to `end` on the axis of a video. */
export function spread(element, start, end, duration) {
  element.style.left = `${(100 * start) / duration}%`;
  element.style.width = `${(100 * (end - start)) / duration}%`;
}

/** An empty bar of a video, as long as its duration is among those of `videos`: all bars have one scale of time. */
export function barOfLength({ duration }, videos, properties) {
  const bar = make("div", { className: "bar", role: "img", ...properties });
  bar.style.width = `${(100 * duration) / Math.max(...videos.map((video) => video.duration))}%`;
  return bar;
}

/** Fill a list of choices from pairs [value, text]. */
export const offer = (select, choices) => select.replaceChildren(...choices.map(([value, textContent]) => make("option", { value: String(value), textContent })));

/** A table that scrolls sideways by itself if the window is narrow. */
export function table(title, heads, rows) {
  const first = make("tr", {}, ...heads.map((text) => make("th", { scope: "col", className: "text", textContent: text })));
  return scrolling(title, make("table", {}, make("thead", {}, first), make("tbody", {}, ...rows)));
}

export const scrolling = (title, content) => make("div", { className: "scroll", tabIndex: 0, role: "region", aria: { label: title } }, content);
