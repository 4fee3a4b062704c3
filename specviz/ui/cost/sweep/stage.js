// The stage of the sweep.

import { Stage } from "../../shared/stage.js";

export const stage = new Stage();
export const { $ } = stage;
