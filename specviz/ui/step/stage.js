// The stage of the player.

import { Stage } from "../shared/stage.js";

/** @import { Config } from "./player.py" */

/** @type {Stage<Config>} */
export const stage = new Stage();
export const { $ } = stage;
