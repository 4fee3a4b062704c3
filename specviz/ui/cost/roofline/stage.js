// The stage of the roofline.

import { Stage } from "../../shared/stage.js";

export const stage = new Stage();
export const { $ } = stage;
