// The stage of the Models tab.

import { Stage } from "../shared/stage.js";

/** @type {Stage<import("./data.js").Config>} */
export const stage = new Stage();
export const { $ } = stage;
