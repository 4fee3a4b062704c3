// The page's own script: Gradio's components start their sections by name (see component.py).

import { start as domains } from "./compare/domains/domains.js";
import { start as raceForm } from "./compare/race/form.js";
import { start as race } from "./compare/race/race.js";
import { start as adaptive } from "./cost/adaptive/adaptive.js";
import { start as law } from "./cost/law/law.js";
import { start as published } from "./cost/published/published.js";
import { start as roofline } from "./cost/roofline/roofline.js";
import { start as server } from "./cost/server/server.js";
import { start as shapes } from "./cost/shapes/shapes.js";
import { start as sweep } from "./cost/sweep/sweep.js";
import { start as terms } from "./cost/terms/terms.js";
import { start as contents } from "./learn/contents.js";
import { start as lessonPanel } from "./learn/panel.js";
import { start as coins } from "./lossless/coins/coins.js";
import { start as gallery } from "./lossless/gallery/gallery.js";
import { start as proof } from "./lossless/proof/proof.js";
import { start as sandbox } from "./lossless/sandbox/sandbox.js";
import { start as models } from "./models/models.js";
import { start as header } from "./shared/header.js";
import { start as intro } from "./step/intro.js";
import { start as player } from "./step/player.js";
import { start as settings } from "./step/settings.js";
import { start as grow } from "./trees/grow/grow.js";
import { start as judging } from "./trees/judging/judging.js";
import { start as ranking } from "./trees/ranking/ranking.js";

/** @import { Start } from "./shared/section.js" */

// What tests of the page use.
export { runs } from "./cost/shared/runs.js";
export { setTerms } from "./cost/shared/terms.js";
export * as repeats from "./lossless/proof/repeats.js";
export * as reel from "./step/reel.js";

/** @type {Record<string, Start<any>>} */
const SECTIONS = {
  "compare/domains/domains": domains,
  "compare/race/form": raceForm,
  "compare/race/race": race,
  "cost/adaptive/adaptive": adaptive,
  "cost/law/law": law,
  "cost/published/published": published,
  "cost/roofline/roofline": roofline,
  "cost/server/server": server,
  "cost/shapes/shapes": shapes,
  "cost/sweep/sweep": sweep,
  "cost/terms/terms": terms,
  "learn/contents": contents,
  "learn/panel": lessonPanel,
  "lossless/coins/coins": coins,
  "lossless/gallery/gallery": gallery,
  "lossless/proof/proof": proof,
  "lossless/sandbox/sandbox": sandbox,
  "models/models": models,
  "shared/header": header,
  "step/intro": intro,
  "step/player": player,
  "step/settings": settings,
  "trees/grow/grow": grow,
  "trees/judging/judging": judging,
  "trees/ranking/ranking": ranking,
};

/**
 * Start a section.
 * @param {string} name The path of its module.
 * @param {Parameters<Start<any>>} given
 */
export const start = (name, ...given) => SECTIONS[name](...given);
