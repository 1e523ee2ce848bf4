// Cutting the tree of key steps into a number of key steps. All functions are pure.

/** The key step 1..K of every leaf: clusters are merged in order until K are left, and numbered by their first leaf. */
export function cutTree({ merges, leaves }, K) {
  const members = new Map(leaves.map((_, leaf) => [leaf, [leaf]]));
  merges.slice(0, Math.max(0, leaves.length - K)).forEach(([a, b], at) => {
    members.set(leaves.length + at, [...members.get(a), ...members.get(b)]);
    members.delete(a);
    members.delete(b);
  });
  const steps = [];
  const groups = [...members.values()].sort((a, b) => Math.min(...a) - Math.min(...b));
  groups.forEach((group, at) => group.forEach((leaf) => { steps[leaf] = at + 1; }));
  return steps;
}

/** The name of a key step of a cut: a letter, because the result's own key steps have numbers. */
export const letterOf = (step) => (step > 26 ? letterOf(Math.floor((step - 1) / 26)) : "") + String.fromCharCode(65 + ((step - 1) % 26));

/** Segments of a video after a cut, [start, end, step] in seconds; adjoining segments of a key step are joined. */
export function cutSegments({ ends, leaves }, steps) {
  const segments = [];
  leaves.forEach((leaf, at) => {
    const last = segments[segments.length - 1];
    if (last && last[2] === steps[leaf]) last[1] = ends[at] / 1000;
    else segments.push([last ? last[1] : 0, ends[at] / 1000, steps[leaf]]);
  });
  return segments;
}

/** The segments of all videos after a cut as a CSV file. */
export function cutTable(tree, K) {
  const steps = cutTree(tree, K);
  const lines = Object.entries(tree.videos).flatMap(([video, parts]) => (
    cutSegments(parts, steps).map(([start, end, step]) => `${video},task,${start},${end},${step}`)));
  return ["video,scope,start_s,end_s,key_step", ...lines, ""].join("\n");
}

/** The share of the differences between samples that K key steps explain. */
export const explainedShare = ({ merges, leaves }, K) => merges.slice(leaves.length - K).reduce((sum, merge) => sum + merge[2], 0);

/** The first leaf of a cluster; clusters below n are leaves, and cluster n + m is the result of merge m. */
export const firstLeaf = ({ merges, leaves }, cluster) => (cluster < leaves.length ? cluster : firstLeaf({ merges, leaves }, merges[cluster - leaves.length][0]));

/** The lines of the drawing as SVG paths; a merge that leaves c of n clusters is at (c - 1) / (n - 1) of the width. */
export function mergeLines({ merges, leaves }, width, rowHeight) {
  const n = leaves.length;
  const across = (clusters) => (n > 1 ? (width * (clusters - 1)) / (n - 1) : width);
  const ends = leaves.map((_, leaf) => [width, (leaf + 0.5) * rowHeight]);
  return merges.map(([a, b], at) => {
    const x = across(n - 1 - at);
    const [[xa, ya], [xb, yb]] = [ends[a], ends[b]];
    ends.push([x, (ya + yb) / 2]);
    return `M${xa} ${ya}H${x}V${yb}H${xb}`;
  });
}
