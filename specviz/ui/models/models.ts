// The Models tab, whose list is refreshed whenever the tab is opened.

import { job } from "./fetching";
import { download, keepLink, question, receive, stage, state } from "./models_list";

import type { Start } from "../shared/section";
import type { Config } from "./__init__.py";

const OFFERS = {
  true: "The models on this machine, those loaded in memory, and public checkpoints that can be downloaded.",
  false:
    "The models on this machine, those loaded in memory, and public checkpoints. To download checkpoints, the app must be started with --allow-any-model.",
};

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  question.wire(() => ({}), receive);
  keepLink();
  download.cancel = () => job.stop();
  window.specviz.models = {
    ...job.verbs,
    wanted: () => download.name,
    chosen: () => state.chosen,
  };
  stage.$(".sv-models-lead").textContent = config.any ? OFFERS.true : OFFERS.false;
  new IntersectionObserver((seen) => {
    if (seen.some((one) => one.isIntersecting)) question.ask();
  }).observe(stage.$(".sv-models-head"));
};
