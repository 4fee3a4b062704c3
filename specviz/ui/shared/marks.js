// The paths of small drawings: marks of what became of a token, icons of buttons, white space.

/** @import { Glyph, Stroke } from "./data.js" */

/** @type {Partial<Record<string, Stroke[]>>} */
export const MARKS = {
  accepted: [["M2 6.5 4.8 9.3 10.2 2.9", "sv-line"]],
  rejected: [["M2.4 2.4 9.6 9.6M9.6 2.4 2.4 9.6", "sv-line"]],
  unreached: [["M4.2 6a1.8 1.8 0 1 0 3.6 0a1.8 1.8 0 1 0-3.6 0", "sv-fill"]],
  recovered: [
    ["M9.9 4.2A4.3 4.3 0 1 0 10.3 7", "sv-line"],
    ["M10.6 1.2v3.4H7.2z", "sv-fill"],
  ],
  bonus: [["M6 .8 7.6 4.3l3.8.4-2.8 2.6.8 3.8L6 9.2 2.6 11.1l.8-3.8L.6 4.7l3.8-.4z", "sv-fill"]],
};
/** @type {Record<string, Stroke[]>} */
export const ICONS = {
  first: [["M3 3v10M13 3.2 6 8l7 4.8z", "sv-both"]],
  back: [["M10.5 3 5.5 8l5 5", "sv-line"]],
  play: [["M4.5 2.8v10.4L13.2 8z", "sv-fill"]],
  pause: [["M5 3v10M11 3v10", "sv-line sv-thick"]],
  next: [["M5.5 3l5 5-5 5", "sv-line"]],
  last: [["M13 3v10M3 3.2 10 8l-7 4.8z", "sv-both"]],
};
/** @type {Record<Glyph, [box: string, paths: Stroke[]]>} */
export const GLYPHS = {
  space: ["0 0 8 6", [["M1 1v4h6V1", "sv-line"]]],
  newline: ["0 0 14 10", [["M12 1v5H3M6 3 3 6l3 3", "sv-line"]]],
  return: ["0 0 14 10", [["M12 6H3M6 3 3 6l3 3", "sv-line"]]],
  tab: ["0 0 14 10", [["M1 5h9M7 2l3 3-3 3M12 1v8", "sv-line"]]],
};
