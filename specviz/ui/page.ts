// The page's own script: Gradio's components start their sections by name (see component.py).

import { start as race } from "./compare/race/race";
import { start as contents } from "./learn/contents";
import { start as lessonPanel } from "./learn/panel";
import { start as coins } from "./lossless/coins/coins";
import { start as gallery } from "./lossless/gallery/gallery";
import { start as sandbox } from "./lossless/sandbox/sandbox";
import { start as addressView } from "./shared/address_view";
import { start as figureView } from "./shared/figure_view";
import { start as header } from "./shared/header";
import { start as jobView } from "./shared/job_view";
import { start as measuredView } from "./shared/measured_view";
import { start as intro } from "./step/intro";
import { start as player } from "./step/player";
import { start as settings } from "./step/settings";
import { start as grow } from "./trees/grow/grow";

import type { Start } from "./shared/section";

// What events of Gradio use.
export { shortened } from "./cost/shorter";
export { openTab } from "./shared/tabs";
// What tests of the page use.
export * as recording from "./step/recording";

const SECTIONS: Record<string, Start<never>> = {
  "compare/race/race": race,
  "learn/contents": contents,
  "learn/panel": lessonPanel,
  "lossless/coins/coins": coins,
  "lossless/gallery/gallery": gallery,
  "lossless/sandbox/sandbox": sandbox,
  "shared/address_view": addressView,
  "shared/figure_view": figureView,
  "shared/header": header,
  "shared/job_view": jobView,
  "shared/measured_view": measuredView,
  "step/intro": intro,
  "step/player": player,
  "step/settings": settings,
  "trees/grow/grow": grow,
};

/**
 * Start a section.
 * @param name The path of its module.
 */
export const start = (name: string, ...given: Parameters<Start<never>>) => SECTIONS[name](...given);
