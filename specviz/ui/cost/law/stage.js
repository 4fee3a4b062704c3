// The stage of the speed law.

import { Stage } from "../../shared/stage.js";

export const stage = new Stage();
export const { $ } = stage;
