// A run in a separate file (see replay.py): the same player, with data from the file.

import { react } from "../shared/chart.js";
import { byId } from "../shared/dom.js";
import { start as startHeader } from "../shared/header.js";
import { drawWith } from "../shared/plot.js";
import { there } from "../shared/there.js";
import { now } from "./cursor.js";
import { notice } from "./live.js";
import { start } from "./player.js";
import { feed } from "./reel.js";
import { recorded, unpack } from "./replay_file.js";

/** @import { Config } from "./player.py" */
/** @import { ReplayData } from "./replay_file.js" */

/** @param {string} id */
const dataOf = (id) => JSON.parse(there(byId(id)?.textContent));

/** @type {Config & { name: string }} */
const config = dataOf("sv-config");
/** @type {ReplayData} */
const { lines, at, show } = dataOf("sv-run");

document.body.classList.toggle("dark", prefersDark());
document.body.classList.toggle("sv-excerpt", show.length > 0);
for (const part of show) document.body.classList.add("sv-show-" + part);
for (const control of document.querySelectorAll("[data-served]")) control.remove();
drawWith({ react });
startHeader(there(byId("sv-brand")));
start(there(byId("sv-step")), { value: null }, idle, idle, config);
now.link ??= at;
unpack(lines).then(
  (found) => feed(recorded(found)),
  () => notice("This run could not be read: the file is damaged, or this browser is too old."),
);

// JupyterLab also reports whether it is dark.
function prefersDark() {
  try {
    const light = window.parent.document.body.dataset.jpThemeLight;
    if (light) return light === "false";
  } catch {
    // The page around the frame may not be accessible.
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// A file has no events of Gradio.
function idle() {}
