// The map's element, props and config.

import { Stage } from "../../shared/stage.js";

/** @type {Stage<import("./data.js").Config>} */
export const stage = new Stage();
export const { $ } = stage;
