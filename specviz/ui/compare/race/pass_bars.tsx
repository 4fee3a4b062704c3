// A lane's bar: every pass to scale, divided into drafting, target pass and the rest. There is one
// path per kind, drawn twice: pale for the time to come, and solid up to the playhead.

import { classes } from "../../shared/view";

import type { Lane } from "./lines";

/** In seconds. */
export type Span = [at: number, long: number];

const GAP = 1.5; // px between passes that are wide enough for it
const TALL = 16;
const NARROW = 4; // minimum px; a narrower box would be mostly outline

/** @param scale px of a second. */
export const PassBars = (lane: Lane, scale: number, width: number) => [
  Passes(lane, scale, width, "sv-race-ahead"),
  Passes(lane, scale, width, "sv-race-past"),
  <i class="sv-race-playhead" />,
];

function Passes(lane: Lane, scale: number, width: number, name: string) {
  const { draft, target, rest } = spansOf(lane, scale);
  const edged = draft.length > 0 && draft.every(([, seconds]) => seconds * scale > NARROW);
  const path = (d: string, kind: string) => <path d={d} class={"sv-race-t-" + kind} />;
  return (
    <svg
      viewBox={"0 0 " + width + " " + TALL}
      width={width}
      class={"sv-race-t " + name}
      aria-hidden="true"
    >
      {path(boxes(rest, scale), "rest")}
      {path(boxes(target, scale), "target")}
      {path(boxes(draft, scale, edged ? 0.5 : 0), classes("draft", edged && "sv-race-edged"))}
    </svg>
  );
}

// Return the boxes of each kind; each pass ends a little early, to leave a gap.
function spansOf(lane: Lane, scale: number) {
  const found: Record<"draft" | "target" | "rest", Span[]> = { draft: [], target: [], rest: [] };
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

// Return rectangles as one path. spans: [start, duration] in seconds; inset: by how many px each
// rectangle is smaller on every side, so that its outline is inside.
const boxes = (spans: Span[], scale: number, inset = 0) =>
  spans
    .map(([at, seconds]) => {
      const wide = Math.max(seconds * scale - 2 * inset, 0.4).toFixed(2);
      const left = (at * scale + inset).toFixed(2);
      return `M${left} ${inset}h${wide}v${TALL - 2 * inset}h-${wide}z`;
    })
    .join("");
