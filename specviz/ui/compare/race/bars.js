// A lane's bar: every pass to scale, split into drafting, target pass and the rest. One path per kind,
// drawn twice: pale for the future, and solid up to the playhead.

import { drawing, el } from "../../shared/dom.js";
import { showTicks } from "./axis.js";
import { hands } from "./hands.js";
import { rows } from "./lanes.js";
import { longest } from "./lines.js";
import { $ } from "./stage.js";

/** @import { Lane, Span } from "./data.js" */

const GAP = 1.5; // px between passes, where they are wide enough
const TALL = 16;
const NARROW = 4; // px: a narrower box would be mostly outline

// Rectangles as one path. spans: [start, seconds] in seconds; inset: of an outline, in px.
/** @param {Span[]} spans @param {number} scale */
function boxes(spans, scale, inset = 0) {
  return spans
    .map(([at, seconds]) => {
      const wide = Math.max(seconds * scale - 2 * inset, 0.4).toFixed(2);
      const tall = TALL - 2 * inset;
      return (
        "M" +
        (at * scale + inset).toFixed(2) +
        " " +
        inset +
        "h" +
        wide +
        "v" +
        tall +
        "h-" +
        wide +
        "z"
      );
    })
    .join("");
}

// The boxes of each kind; each pass ends a little earlier, to leave a gap.
/** @param {Lane} lane @param {number} scale */
function spans(lane, scale) {
  /** @type {Record<"draft" | "target" | "rest", Span[]>} */
  const found = { draft: [], target: [], rest: [] };
  lane.passes.forEach(([draft, target, rest], index) => {
    const start = index ? lane.ends[index - 1] : 0,
      whole = lane.ends[index] - start;
    const keep = 1 - Math.min(GAP / Math.max(whole * scale, 1e-9), 0.3);
    if (draft) found.draft.push([start, draft * keep]);
    found.target.push([start + draft * keep, target * keep]);
    if (rest) found.rest.push([start + (draft + target) * keep, rest * keep]);
  });
  return found;
}

/** @param {Lane} lane @param {number} scale @param {number} width @param {string} name */
function bar(lane, scale, width, name) {
  const found = spans(lane, scale);
  const wide = found.draft.length && found.draft.every(([, seconds]) => seconds * scale > NARROW);
  const svg = drawing(
    "0 0 " + width + " " + TALL,
    [
      [boxes(found.rest, scale), "sv-race-t-rest"],
      [boxes(found.target, scale), "sv-race-t-target"],
      [
        boxes(found.draft, scale, wide ? 0.5 : 0),
        "sv-race-t-draft" + (wide ? " sv-race-edged" : ""),
      ],
    ],
    "sv-race-t " + name,
  );
  svg.setAttribute("width", String(width));
  return svg;
}

// Draw all bars at the current width, with new animations.
export function showBars() {
  const width = hands.width,
    end = longest();
  hands.moving = [];
  if (!width || !end) return;
  const scale = width / end;
  for (const made of rows.values()) {
    if (!made.lane) continue;
    const past = bar(made.lane, scale, width, "sv-race-past"),
      head = el("i", "sv-race-playhead");
    made.bar.replaceChildren(bar(made.lane, scale, width, "sv-race-ahead"), past, head);
    const beyond = made.lane.end * scale;
    made.state.style.left = Math.round(beyond) + 4 + "px";
    hands.moving.push(
      [past, [{ clipPath: "inset(0 100% 0 0)" }, { clipPath: "inset(0 0 0 0)" }]],
      [head, slid(width)],
    );
  }
  hands.moving.push([$(".sv-race-pin"), slid(width)]);
  showTicks(width, end);
}

/** @param {number} width */
const slid = (width) => [
  { transform: "translateX(0)" },
  { transform: "translateX(" + width + "px)" },
];
