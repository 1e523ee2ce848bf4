// The popup beside the pointer or the focus: pictures of videos and lines of text.

import { byId, make } from "./dom.js";
import { drawPicture, pictureAt, sharp, stripOf } from "./looks.js";
import { DATA, state } from "./state.js";

export const popup = byId("popup");

/** Show lines beside a point; `pictures` are [video, seconds] pairs. */
export function showPopup(lines, x, y, pictures = []) {
  const turn = ++state.popupTurn;
  const canvas = make("canvas", { hidden: true });
  popup.replaceChildren(canvas, ...lines.map((text) => make("div", { textContent: text })));
  popup.hidden = false;
  settle(x, y);
  Promise.all(pictures.map(([video]) => stripOf(video))).then((images) => {
    if (turn !== state.popupTurn || !images.some(Boolean)) return;
    const height = pictures.length > 1 ? 72 : 108;
    const widths = pictures.map(([video]) => height * DATA.videos[video].aspect);
    const total = widths.reduce((sum, width) => sum + width, 0) + 4 * (widths.length - 1);
    const scale = Math.min(1, 260 / total);
    const pen = sharp(canvas, total * scale, height * scale);
    canvas.style.width = `${total * scale}px`;
    let left = 0;
    images.forEach((image, at) => {
      const [video, seconds] = pictures[at];
      if (image) drawPicture(pen, image, pictureAt(video, seconds), left, 0, widths[at] * scale, height * scale);
      left += (widths[at] + 4) * scale;
    });
    canvas.hidden = false;
    settle(x, y);
  });
}

function settle(x, y) {
  const { width, height } = popup.getBoundingClientRect();
  const left = Math.min(Math.max(4, x + 14), window.innerWidth - width - 4);
  const below = y + 18;
  popup.style.left = `${Math.max(4, left)}px`;
  popup.style.top = `${below + height > window.innerHeight - 4 ? Math.max(4, y - height - 12) : below}px`;
}

export function hidePopup() {
  state.popupTurn += 1;
  popup.hidden = true;
}
