// The popup beside the pointer or the focus: a picture of a video and lines of text.

import { byId, make } from "./dom.js";
import { drawPicture, pictureAt, sharp, stripOf } from "./looks.js";
import { DATA, state } from "./state.js";

export const popup = byId("popup");

/** Show lines beside a point, with the `picture` [video, seconds] if there is one. */
export function showPopup(lines, x, y, picture = null) {
  const turn = ++state.popupTurn;
  popup.replaceChildren(...lines.map((text) => make("div", { textContent: text })));
  popup.hidden = false;
  settle(x, y);
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
    settle(x, y);
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

export function hidePopup() {
  state.popupTurn += 1;
  popup.hidden = true;
}
