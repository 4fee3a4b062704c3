// The recorded race in the page's URL: ?race=2-repeat. A live race has no link.

import { linkable } from "../../shared/address.js";
import { stage } from "./stage.js";

let shown = ""; // the recorded race's name
let write = () => {};

/** @param {string} name */
export function remember(name) {
  shown = name;
  write();
}

export function keepLink() {
  write = linkable("race", () => shown, stage.element, true);
}
