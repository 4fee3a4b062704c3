// A sentence with its coloured numbers, and the link from a lane to its point on Cost.

import { el } from "../../shared/dom.js";
import { visit } from "../../shared/tabs.js";
import { there } from "../../shared/there.js";
import { called, story } from "./lines.js";

/** @import { LaneNumbers, Part } from "./data.js" */

// A part of a sentence, as in compare/sentences.py: text, bold text, or a number and its owner.
/** @param {Part} part */
export function piece(part) {
  if (typeof part === "string") return part;
  return part.b === undefined
    ? el("span", "sv-race-n sv-race-n-" + part.as, part.n)
    : el("b", "", part.b);
}

// A button that shows this lane's point on Cost.
/** @param {LaneNumbers} lane */
export function onCost(lane) {
  if (!lane.point) return null;
  const made = el("button", "sv-race-link", "See it on Cost");
  made.type = "button";
  made.setAttribute("aria-label", "See it on Cost: " + called(lane.name));
  const { source, where } = there(story.race);
  const point = { ...lane.point, name: called(lane.name), source, where };
  made.addEventListener("click", () => visit("Cost", "sv-law", point));
  return made;
}
