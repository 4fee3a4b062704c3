// Where the reader is, and what the page is waiting for.

/** @import { Coins, Link, Place } from "./data.js" */

/**
 * @type {{
 *   at: { round: number, step: number },
 *   question: Place | null,
 *   supposed: Coins | null,
 *   shown: "recorded" | "live" | "none",
 *   link: Link | null,
 *   offered: string,
 * }}
 */
export const now = {
  at: { round: 0, step: 0 },
  question: null, // the [round, step] whose verdict is being predicted
  supposed: null, // the coins that "Run it from here" sets, by name
  shown: "none", // "recorded", "live" or "none": whose run is on screen
  link: null, // the { round, step } to open as soon as it is here
  offered: "", // the run that is shown while a link's live run waits to be started
};
