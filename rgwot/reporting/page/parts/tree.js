// A tree of key steps, which the reader cuts: parts of all videos with a typical frame each, and how they merge.

const LEAF_ROW = 44;
const tree = { run: -1, K: 0 };

/** The key step 1..K of every leaf: the first merges are made until K are left, numbered by their first leaf. */
function cutTree({ merges, leaves }, K) {
  const members = new Map(leaves.map((_, leaf) => [leaf, [leaf]]));
  merges.slice(0, Math.max(0, leaves.length - K)).forEach(([a, b], at) => {
    members.set(leaves.length + at, [...members.get(a), ...members.get(b)]);
    members.delete(a);
    members.delete(b);
  });
  const steps = [];
  const own = [...members.values()].sort((one, other) => Math.min(...one) - Math.min(...other));
  own.forEach((group, at) => group.forEach((leaf) => { steps[leaf] = at + 1; }));
  return steps;
}

/** Segments of a video after a cut, [start, end, step] in seconds; adjoining segments of a key step are joined. */
function cutSegments({ ends, leaves }, steps) {
  const found = [];
  leaves.forEach((leaf, at) => {
    const last = found[found.length - 1];
    if (last && last[2] === steps[leaf]) last[1] = ends[at] / 1000;
    else found.push([last ? last[1] : 0, ends[at] / 1000, steps[leaf]]);
  });
  return found;
}

/** The colour of the k-th key step of a cut; these have nothing to do with annotated ones. */
const lookOfCut = (step) => lookAt(step, 8);

function drawTree() {
  const view = viewOf(state.run);
  const own = view && view.tree;
  for (const id of ["tree-controls", "dendrogram", "cut-bars", "cut-next", "cut-words"]) byId(id).hidden = !own;
  byId("no-tree").hidden = Boolean(own);
  if (!own) {
    byId("no-tree").textContent = factsOf(state.run).kind === "trivial"
      ? "A trivial baseline has no embedding to make a tree of."
      : "The tree is shown for the first seed of a method.";
    return;
  }
  const n = own.leaves.length;
  if (tree.run !== state.run) {
    tree.run = state.run;
    tree.K = Math.max(1, Math.min(n, factsOf(state.run).K || 7));
  }
  byId("cut").max = String(n);
  byId("cut").value = String(tree.K);
  drawMerges(own);
  byId("leaves").replaceChildren(...own.leaves.map((leaf) => leafRow(leaf)));
  byId("cut-bars").replaceChildren(...DATA.videos.flatMap((video, at) => (own.videos[video.id] ? [
    make("div", { className: "label", textContent: video.name }),
    make("div", { className: "bar", role: "img", data: { video: String(at) } }),
  ] : [])));
  showCut();
}

/** A typical frame of a leaf, if there are pictures, and how much of the videos it is. */
function leafRow(leaf) {
  const at = place.get(leaf.video);
  const canvas = make("canvas", { hidden: true });
  if (at !== undefined) {
    stripOf(at).then((image) => {
      if (!image) return;
      const height = LEAF_ROW - 6;
      const width = Math.min(height * DATA.videos[at].aspect, 96);
      drawPicture(sharp(canvas, width, height), image, pictureAt(at, leaf.time_s), 0, 0, width, height);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      canvas.hidden = false;
    });
  }
  const name = at === undefined ? leaf.video : DATA.videos[at].name;
  return make("li", {},
    make("span", { className: "chip" }), canvas,
    make("span", { className: "quiet", title: `${name} at ${clock(leaf.time_s)}`, textContent: percent(leaf.share, leaf.share < 0.1 ? 1 : 0) }));
}

/** Make a part of the drawing. */
function drawn(tag, properties) {
  const element = document.createElementNS(byId("merges").namespaceURI, tag);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  return element;
}

/** Draw the merges, with the leaves at the right; one that leaves c clusters is at (c - 1) / (n - 1) of the width. */
function drawMerges({ merges, leaves }) {
  const n = leaves.length;
  const across = (clusters) => (n > 1 ? (1000 * (clusters - 1)) / (n - 1) : 1000);
  const ends = leaves.map((_, leaf) => [1000, (leaf + 0.5) * LEAF_ROW]);
  const lines = merges.map(([a, b], at) => {
    const x = across(n - 1 - at);
    const [[xa, ya], [xb, yb]] = [ends[a], ends[b]];
    ends.push([x, (ya + yb) / 2]);
    return drawn("path", { d: `M${xa} ${ya}H${x}V${yb}H${xb}` });
  });
  const height = n * LEAF_ROW;
  byId("merges").setAttribute("viewBox", `0 0 1000 ${height}`);
  byId("merges").style.height = `${height}px`;
  byId("merges").replaceChildren(...lines, drawn("line", { id: "cut-line", y1: 0, y2: height }));
}

function moveCut(K) {
  tree.K = Math.max(1, Math.min(viewOf(state.run).tree.leaves.length, K));
  byId("cut").value = String(tree.K);
  showCut();
}

/** Colour leaves and bars by the cut, and say what one key step more or fewer would change. */
function showCut() {
  const own = viewOf(state.run).tree;
  const { merges, leaves, videos } = own;
  const [n, K] = [leaves.length, tree.K];
  const steps = cutTree(own, K);
  byId("cut-at").textContent = String(K);
  // Half-way between the merge that leaves K clusters and the next merge; for the extreme K, near the edge of the drawing.
  const x = n > 1 ? Math.max(4, Math.min(996, (1000 * (K - 1.5)) / (n - 1))) : 500;
  for (const side of ["x1", "x2"]) byId("cut-line").setAttribute(side, x);
  [...byId("leaves").children].forEach((row, leaf) => row.firstElementChild.replaceWith(label(lookOfCut(steps[leaf]), String(steps[leaf]))));
  for (const bar of byId("cut-bars").querySelectorAll(".bar")) {
    const video = DATA.videos[Number(bar.dataset.video)];
    const segments = cutSegments(videos[video.id], steps);
    bar.setAttribute("aria-label", `${video.name}: ${plural(segments.length, "segment")}, ${segments.slice(0, 40).map((one) => one[2]).join(", ")}`);
    bar.replaceChildren(...segments.map(([start, end, step]) => {
      const made = make("div", { title: `${step}: ${clock(start)} to ${clock(end)}` }, make("span", { textContent: String(step) }));
      made.classList.add("seg", ...lookOfCut(step));
      spread(made, start, end, video.duration);
      return made;
    }));
  }
  const explained = (count) => percent(merges.slice(n - count).reduce((sum, one) => sum + one[2], 0));
  const sentences = [`${plural(K, "key step")} of ${plural(n, "part")}: they explain ${explained(K)} of the differences between samples, and all ${n} parts ${explained(n)}.`];
  const leavesOf = (cluster) => (cluster < n ? cluster : leavesOf(merges[cluster - n][0]));
  if (K > 1) {
    const [a, b, more] = merges[n - K];
    sentences.push(`One fewer joins ${[steps[leavesOf(a)], steps[leavesOf(b)]].sort((one, other) => one - other).join(" and ")} and gives up ${percent(more, 1)}.`);
  }
  if (K < n) {
    const [a, , less] = merges[n - K - 1];
    sentences.push(`One more divides ${steps[leavesOf(a)]} and gains ${percent(less, 1)}.`);
  }
  byId("cut-words").textContent = sentences.join(" ");
  byId("cut-next").hidden = K === factsOf(state.run).K;
  byId("cut-next").textContent = `For names, orders and scores, make a result with this number: set decode.K: ${K}, or use the decoder ${factsOf(state.run).decoder.split("@")[0]}@K=${K}.`;
}

function downloadCut() {
  const own = viewOf(state.run).tree;
  const steps = cutTree(own, tree.K);
  const lines = ["video,scope,start_s,end_s,key_step"];
  for (const [video, parts] of Object.entries(own.videos)) {
    for (const [start, end, step] of cutSegments(parts, steps)) lines.push(`${video},task,${start},${end},${step}`);
  }
  download(`${lines.join("\n")}\n`, "text/csv", `${DATA.task}_K${tree.K}.csv`);
}

function startTree() {
  byId("cut").addEventListener("input", () => moveCut(Number(byId("cut").value)));
  byId("cut-download").addEventListener("click", downloadCut);
  byId("merges").addEventListener("click", (event) => {
    const { left, width } = byId("merges").getBoundingClientRect();
    moveCut(Math.ceil(((event.clientX - left) / width) * (viewOf(state.run).tree.leaves.length - 1)) + 1);
  });
}
