// The stage of the player.

import { Stage } from "../shared/stage";

import type { Config } from "./player.py";

export const stage: Stage<Config> = new Stage();
export const { $ } = stage;
