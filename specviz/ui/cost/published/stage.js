// The stage of the published numbers.

import { Stage } from "../../shared/stage.js";

export const stage = new Stage();
export const { $ } = stage;
