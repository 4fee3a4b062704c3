// The Models tab: refreshes its list whenever it is opened, and wires the buttons of its rows.

import { byId } from "../shared/dom.js";
import { openTab } from "../shared/tabs.js";
import { there } from "../shared/there.js";
import { alarm, question } from "./ask.js";
import { cancel, fetchModel, job } from "./fetching.js";
import { show, wireActs } from "./show.js";
import { $, stage } from "./stage.js";
import { fetched, list } from "./state.js";

/** @import { Refusal, Start } from "../shared/data.js" */
/** @import { Answer, Config } from "./data.js" */

const OFFERS = {
  true: "The models on this machine, those loaded in memory, and public checkpoints that can be downloaded.",
  false:
    "The models on this machine, those loaded in memory, and public checkpoints. To download checkpoints, the app must be started with --allow-any-model.",
};

/** @param {string} name */
async function use(name) {
  list.chosen = name;
  there(byId("sv-models-use")).click();
  await openTab("Step");
  window.scrollTo(0, 0);
}

/** @param {Answer | Refusal} answer */
function receive(answer) {
  alarm(answer.problem ?? "");
  if (answer.problem !== undefined) return;
  list.answer = answer;
  show();
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  question.wire(() => ({}), receive);
  window.specviz.models = {
    begin: () => job.begin(),
    stop: () => job.stop(),
    ended: () => job.ended(),
    wanted: () => fetched.name,
    chosen: () => list.chosen,
  };
  wireActs({ fetch: fetchModel, cancel, use });
  $(".sv-models-lead").textContent = config.any ? OFFERS.true : OFFERS.false;
  new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting)) question.ask();
  }).observe($(".sv-models-head"));
}
