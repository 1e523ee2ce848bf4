// Filter and sort the list of videos: a field for part of a name, and a choice of the order.

import { make, offer } from "./dom.js";
import { DATA } from "./state.js";

const ORDERS = [["deviations", "most deviations first"], ["study", "by name"], ["longest", "longest first"]];

/** Make the controls in `space`; `apply` gets the videos to list, in order. `numberOf` counts deviations of a video. */
export function startSift(space, numberOf, apply, first = "deviations") {
  const text = make("input", { type: "search", size: 12, autocomplete: "off", placeholder: "part of a name" });
  const order = make("select");
  offer(order, ORDERS);
  order.value = first;
  const sift = () => {
    const wanted = text.value.trim().toLowerCase();
    const seen = DATA.videos.map((_, at) => at).filter((at) => DATA.videos[at].name.toLowerCase().includes(wanted));
    const rank = { deviations: (at) => -numberOf(at), longest: (at) => -DATA.videos[at].duration, study: () => 0 }[order.value];
    // The sort is stable: videos that are equal keep the order of the study.
    apply(seen.sort((a, b) => rank(a) - rank(b)), wanted !== "");
  };
  text.addEventListener("input", sift);
  order.addEventListener("change", sift);
  space.replaceChildren(make("label", {}, "Videos ", text), make("label", {}, "Order ", order));
  sift();
}
