// The line that says what this page is, which can be closed, and the tour that it offers.

import { local } from "../shared/storage";
import { tour } from "../shared/store";
import { stage, startTour } from "./tour";

import type { Start } from "../shared/section";
import type { TourConfig } from "./tour.py";

const KEY = "sv-intro"; // in the browser's storage, where there is one

export const start: Start<TourConfig> = (element, props, _watch, _trigger, config) => {
  stage.set(element, props, config);
  const line = stage.$(".sv-intro");
  line.hidden = local.get(KEY) === "away";
  stage.$("[data-intro=away]").addEventListener("click", () => putAway());
  stage.$("[data-intro=tour]").addEventListener("click", () => tour.set(true));
  startTour(() => putAway());
};

function putAway() {
  stage.$(".sv-intro").hidden = true;
  local.set(KEY, "away");
}
