// The stage of the player.

import { Stage } from "../shared/stage.js";

export const stage = new Stage();
export const { $ } = stage;
