// The hands of the replay's clock, and whether anybody can see them.

/** @import { Moving } from "./data.js" */

export const hands = {
  width: 0, // of the bars as they are drawn
  /** @type {Moving[]} */
  moving: [], // over the whole race
  playing: false,
  due: false, // a replay starts by itself as soon as somebody can see it
  seen: false, // whether the part is in sight
};
