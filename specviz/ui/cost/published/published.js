// Everything is here already; choosing only shows it otherwise.

import { board, boardChoices, ours, toggle } from "./boards.js";
import { evidence, families, ORDERS, published } from "./numbers.js";
import { $, stage } from "./stage.js";
import { options } from "./table.js";

export function start(element, props, _watch, _trigger, config) {
  stage.set(element, props, config);
  options($(".sv-headline-family"), [["", "all"], ...families().map((name) => [name, name])]);
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
