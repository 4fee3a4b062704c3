// Buttons, theme, width, and the public object `window.specviz.sweeps`.

import { byId } from "../../shared/dom.js";
import { onTheme, page } from "../../shared/page.js";
import { pictures } from "../../shared/picture.js";
import { fetchPlotly } from "../../shared/plot.js";
import { there } from "../../shared/there.js";
import { job, receive } from "./measure.js";
import { draw, legend, on, say, show } from "./show.js";
import { $, stage } from "./stage.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Config } from "./data.js" */

/** @type {Start<Config>} */
export function start(element, props, watch, _trigger, config) {
  stage.set(element, props, config);
  legend();
  const face = {
    begin: () => job.begin(),
    stop: () => job.stop(),
    ended: () => job.ended(),
    get sweep() {
      return on;
    },
    get under() {
      return job.number;
    },
  };
  page("sweeps")[stage.config.name] = face;
  /** @param {string} which */
  const press = (which) => there(byId(stage.config.name + "-" + which)).click();
  $(".sv-sweep-go").addEventListener("click", () => press("go"));
  $(".sv-sweep-stop").addEventListener("click", () => press("stop"));
  $(".sv-sweep-numbers").before(pictures([["passes", () => $(".sv-sweep-figure")]]));
  onTheme(draw);
  new ResizeObserver(draw).observe($(".sv-sweep-place"));
  watch("value", receive);
  if (stage.config.recorded) show(stage.config.recorded);
  else say("notice", "There is no recorded sweep. Measure this machine to see one.");
  fetchPlotly().then(
    () => draw(),
    (problem) => say("alert", problem.message),
  );
}
