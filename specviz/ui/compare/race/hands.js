// The replay's animations, and whether they are visible.

/** @import { Moving } from "./data.js" */

export const hands = {
  width: 0, // of the bars, in px
  /** @type {Moving[]} */
  moving: [], // elements and their keyframes over the whole race
  playing: false,
  due: false, // the replay starts as soon as it is in view
  seen: false, // whether the race is in view
};
