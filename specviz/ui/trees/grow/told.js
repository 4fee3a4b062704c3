// Receives the server's messages about a live job, for the section that shows them.

import { receive } from "./live.js";

/** @import { Start } from "../../shared/data.js" */

/** @type {Start<object>} */
export function start(_element, props, watch) {
  watch("value", () => receive(props.value));
}
