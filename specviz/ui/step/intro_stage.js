// The stage of the line above the run and of the way round.

import { Stage } from "../shared/stage.js";

/** @type {Stage<import("./tour.js").TourConfig>} */
export const stage = new Stage();
