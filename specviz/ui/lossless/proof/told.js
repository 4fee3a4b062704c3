// Receive the server's output of the repeated runs.

import { receive } from "./repeats.js";

/** @import { Start } from "../../shared/data.js" */

/** @type {Start<object>} */
export function start(_element, props, watch) {
  watch("value", () => receive(props.value));
}
