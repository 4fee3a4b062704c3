// Set-up of the map, and the API that others use: `window.specviz.domains`.

import { DataButtons } from "../../shared/data_file.js";
import { page } from "../../shared/page.js";
import { pictures } from "../../shared/picture.js";
import { draw } from "./domain_map.js";
import { feed, job } from "./live.js";
import { aboutMap, mapData, mapName, mapRows } from "./map_data.js";
import { narrow, shown, view } from "./shown.js";
import { $, hideTip, listen, stage } from "./tip.js";

/** @import { Start } from "../../shared/section.js" */
/** @import { Config } from "./__init__.py" */

// Show below the button how much work the form's values mean.
/** @param {string} text */
function size(text) {
  const place = document.querySelector("#sv-domains-size .sv-domains-size");
  if (place) place.textContent = text;
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  shown.views = stage.config.recorded.slice();
  draw();
  narrow.addEventListener("change", () => {
    hideTip();
    draw();
  });
  $(".sv-domains-shown").append(
    pictures(
      aboutMap,
      [["map of domains", () => [stage.find(".sv-domains-legend"), $(".sv-domains-map")]]],
      DataButtons("numbers of the map", mapName, mapRows, mapData),
    ),
  );
  listen();
  const face = {
    ...job.verbs,
    size,
    feed,
    get asked() {
      return job.wanted;
    },
    get view() {
      return view();
    },
  };
  page("domains")[config.name] = face;
  job.resume();
}
