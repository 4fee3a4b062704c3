// The stage of the race.

import { Stage } from "../../shared/stage.js";

export const stage = new Stage();
export const { $ } = stage;
