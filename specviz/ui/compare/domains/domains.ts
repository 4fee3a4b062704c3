// Set-up of the map, and the API that others use: `window.specviz.domains`.

import { DataButtons } from "../../shared/data_file";
import { page } from "../../shared/page";
import { pictures } from "../../shared/picture";
import { draw } from "./domain_map";
import { feed, job } from "./live";
import { aboutMap, mapData, mapName, mapRows } from "./map_data";
import { narrow, shown, view } from "./shown";
import { $, hideTip, listen, stage } from "./tip";

import type { Start } from "../../shared/section";
import type { Config } from "./__init__.py";

// Show below the button how much work the form's values mean.
function size(text: string) {
  const place = document.querySelector("#sv-domains-size .sv-domains-size");
  if (place) place.textContent = text;
}

export const start: Start<Config> = (element, props, _watch, _trigger, config) => {
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
};
