// The stage of the map of domains.

import { Stage } from "../../shared/stage.js";

export const stage = new Stage();
export const { $ } = stage;
