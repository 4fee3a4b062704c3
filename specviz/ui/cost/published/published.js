// Everything is here already; choosing only shows it otherwise.

import { board, boardChoices, ours, toggle } from "./boards.js";
import { evidence, families, ORDERS, published } from "./numbers.js";
import { $, stage } from "./stage.js";
import { options } from "./table.js";

/** @import { Start } from "../../shared/data.js" */
/** @import { Config, Option } from "./data.js" */

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
  published();
  evidence();
  board();
  ours();
}
