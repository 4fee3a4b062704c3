// What the server tells of a live look arrives here, beside the section that shows it.

import { receive } from "./live.js";

/** @import { Start } from "../../shared/data.js" */

/** @type {Start<object>} */
export function start(_element, props, watch) {
  watch("value", () => receive(props.value));
}
