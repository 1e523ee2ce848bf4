// The popup beside the pointer or the focus: a picture of a video and lines of text.

import { byId, make } from "./dom.js";
import { drawPicture, pictureAt, sharp, stripOf } from "./looks.js";
import { DATA, state } from "./state.js";

export const popup = byId("popup");

/** Show lines beside a point, with the `picture` [video, seconds] if there is one. */
export const showPopup = (lines, x, y, picture = null) => present(lines, picture, () => settle(x, y));

/** Show lines of text beside an element, on the side where the popup covers the least of `others`. */
export const showPopupBeside = (lines, element, others, picture = null) => present(lines, picture, () => settleBeside(element, others));

function present(lines, picture, settlePopup) {
  const turn = ++state.popupTurn;
  popup.replaceChildren(...lines.map((text) => make("div", { textContent: text })));
  popup.hidden = false;
  settlePopup();
  if (!picture) return;
  const [video, seconds] = picture;
  stripOf(video).then((image) => {
    if (turn !== state.popupTurn || !image) return;
    const canvas = make("canvas");
    const width = Math.min(260, 108 * DATA.videos[video].aspect);
    const height = width / DATA.videos[video].aspect;
    drawPicture(sharp(canvas, width, height), image, pictureAt(video, seconds), 0, 0, width, height);
    canvas.style.width = `${width}px`;
    popup.prepend(canvas);
    settlePopup();
  });
}

function settle(x, y) {
  const { width, height } = popup.getBoundingClientRect();
  const left = Math.min(Math.max(4, x + 14), window.innerWidth - width - 4);
  const below = y + 18;
  const last = window.innerHeight - height - 4;
  // In a narrow window everything is below or above, so the popup goes to the far edge.
  const top = window.innerWidth <= 600 ? (y < window.innerHeight / 2 ? last : 4) : below > last ? y - height - 12 : below;
  popup.style.left = `${Math.max(4, left)}px`;
  popup.style.top = `${Math.max(4, top)}px`;
}

function settleBeside(element, others) {
  const target = element.getBoundingClientRect();
  const { width, height } = popup.getBoundingClientRect();
  const [right, bottom] = [window.innerWidth - width - 4, window.innerHeight - height - 4];
  const sides = [[target.left, target.bottom + 6], [target.left, target.top - height - 6], [target.right + 6, target.top], [target.left - width - 6, target.top], [right, bottom], [4, bottom]]
    .map(([left, top]) => [Math.max(4, Math.min(left, right)), Math.max(4, Math.min(top, bottom))]);
  const common = (/** @type {number[]} */ [left, top], box) => Math.max(0, Math.min(left + width, box.right) - Math.max(left, box.left)) * Math.max(0, Math.min(top + height, box.bottom) - Math.max(top, box.top));
  const boxes = others.map((other) => other.getBoundingClientRect());
  // The popup should not cover its own card, either.
  const covered = sides.map((side) => boxes.reduce((sum, box) => sum + common(side, box), 2 * common(side, target)));
  const [left, top] = sides[covered.indexOf(Math.min(...covered))];
  popup.style.left = `${left}px`;
  popup.style.top = `${top}px`;
}

export function hidePopup() {
  state.popupTurn += 1;
  popup.hidden = true;
}
