// The comparison of groups of videos in the tab of the procedure: the differences, and every measure as a table.

import { byId, make, offer, table } from "./dom.js";
import { chip, titled } from "./looks.js";
import { stepTitle } from "./results.js";
import { DATA, state } from "./state.js";
import { amount, probability } from "./text.js";

export function startGroups() {
  if (!DATA.groups) return;
  offer(byId("groups-measure"), Object.entries(DATA.groups.measures).map(([value, words]) => [value, `${value}: ${words}`]));
  byId("groups-measure").value = "duration";
  byId("groups-measure").addEventListener("change", drawGroups);
}

export function drawGroups() {
  if (!DATA.groups) return;
  const comparison = DATA.groups.runs[state.run];
  byId("groups-about").textContent = comparison ? `Column ${DATA.groups.column} of the table of videos: ${comparison.about}.` : "Groups are compared for the first try of results that look at the videos; choose one above.";
  byId("groups-few").textContent = comparison ? comparison.few : "";
  byId("groups-few").hidden = !comparison || !comparison.few;
  const rows = comparison ? comparison.rows : [];
  const starred = rows.filter(({ star }) => star);
  byId("groups-differ").replaceChildren(starred.length
    ? make("ul", { className: "changes" }, ...starred.map((row) => make("li", {}, chip(state.run, row.step, stepTitle(state.run, row.step)), ` ${row.measure}: ${groupMeans(comparison.groups, row)}; adjusted p ${probability(row.adjusted)}`)))
    : make("p", { textContent: comparison ? "No difference is significant, which does not show that the groups are alike." : "" }));
  const chosen = byId("groups-measure").value;
  const shownRows = rows.filter(({ measure, a }) => measure === chosen && !a).map((row) => make("tr", {},
    make("td", { className: "text" }, titled(state.run, [[row.step, stepTitle(state.run, row.step)]])),
    ...(chosen === "transitions" ? [make("td", { className: "text", textContent: row.successor ? stepTitle(state.run, row.successor) : "end of the video" })] : []),
    ...row.numbers.map(([n, mean, low, high]) => make("td", { textContent: mean === null ? "" : `${amount(mean)} (${amount(low)} to ${amount(high)}), n = ${n}` })),
    make("td", { textContent: row.p === null ? "" : probability(row.p) }),
    make("td", { textContent: `${row.adjusted === null ? "" : probability(row.adjusted)}${row.star ? " *" : ""}` })));
  byId("groups-table").replaceChildren(comparison ? table("Groups of videos", ["Key step", ...(chosen === "transitions" ? ["Followed by"] : []), ...comparison.groups, "p", "Adjusted p"], shownRows) : "");
}

/** The means of all groups, or of the two that a row compares. */
function groupMeans(groups, { a, b, numbers }) {
  return groups.map((group, at) => [group, numbers[at][1]]).filter(([group]) => !a || group === a || group === b).map(([group, mean]) => `${group} ${amount(mean)}`).join(", ");
}
