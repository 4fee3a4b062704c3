// All data is present from the start; the controls only filter and sort it.

import { byId } from "../../shared/dom.js";
import { there } from "../../shared/there.js";
import { board, boardChoices, ours, toggle } from "./boards.js";
import { evidence, families, ORDERS, published } from "./numbers.js";
import { $, stage } from "./stage.js";
import { options } from "./table.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Config, Option } from "./data.js" */

// Show a row that another section links to, whatever the filters.
/** @param {string} place */
function showRow(place) {
  const [kind, at] = place.split("-");
  /** @type {HTMLSelectElement} */
  const select = $(kind === "row" ? ".sv-headline-family" : ".sv-headline-device");
  select.value = kind === "row" ? "" : at;
  if (kind === "row") published();
  else board();
  for (const row of stage.all(".sv-headline-here")) row.classList.remove("sv-headline-here");
  const row = there(byId("sv-" + place));
  row.classList.add("sv-headline-here");
  row.tabIndex = -1;
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "center" });
}

/** @type {Start<Config>} */
export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  /** @type {Option[]} */
  const named = families().map((name) => [name, name]);
  options($(".sv-headline-family"), [["", "all"], ...named]);
  options($(".sv-headline-sort"), ORDERS);
  boardChoices();
  for (const name of ["family", "sort"])
    $(".sv-headline-" + name).addEventListener("change", published);
  $(".sv-headline-device").addEventListener("change", board);
  $(".sv-headline-toggle").addEventListener("click", toggle);
  $(".sv-headline-secondhand").textContent = stage.config.secondhand;
  window.addEventListener("sv-report", (event) => showRow(event.detail));
  published();
  evidence();
  board();
  ours();
}
