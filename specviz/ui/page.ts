// The page's own script: Gradio's components start their sections by name (see component.py).
// `window.specviz` has what Gradio's event handlers and tests use: some functions, and by the id of a
// component what its section's `start` returned.

import { start as race } from "./compare/race/race";
import { shortened } from "./cost/shorter";
import { start as contents } from "./learn/contents";
import { start as lessonPanel } from "./learn/panel";
import { start as sandbox } from "./lossless/sandbox/sandbox";
import { start as addressView } from "./shared/address_view";
import { saveData } from "./shared/data_file";
import { start as figureView } from "./shared/figure_view";
import { sendNewest } from "./shared/gradio";
import { start as header } from "./shared/header";
import { start as jobView } from "./shared/job_view";
import { start as measuredView } from "./shared/measured_view";
import { checkRanges } from "./shared/slider_range";
import * as store from "./shared/store";
import { hand, openTab } from "./shared/tabs";
import { start as intro } from "./step/intro";
import * as step from "./step/state";
import { start as player } from "./step/player";
import { start as settings } from "./step/settings";

import type { Start } from "./shared/section";

const SECTIONS: Record<string, Start<never>> = {
  "compare/race/race": race,
  "learn/contents": contents,
  "learn/panel": lessonPanel,
  "lossless/sandbox/sandbox": sandbox,
  "shared/address_view": addressView,
  "shared/figure_view": figureView,
  "shared/header": header,
  "shared/job_view": jobView,
  "shared/measured_view": measuredView,
  "step/intro": intro,
  "step/player": player,
  "step/settings": settings,
};

window.specviz = { hand, openTab, saveData, shortened, step, store };
checkRanges();

/**
 * Start a section.
 * @param module The path of its module.
 */
export function start(
  module: string,
  ...[element, props, watch, trigger, config]: Parameters<Start<never>>
) {
  const { name } = config as { name: string };
  window.specviz[name] = SECTIONS[module](element, props, watch, sendNewest(trigger), config);
}
