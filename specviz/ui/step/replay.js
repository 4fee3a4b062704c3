// A run in a separate file (see replay.py): the same player, with data from the file.

import { byId } from "../shared/dom.js";
import { openFile, unpack, unreadable } from "../shared/offline.js";
import { there } from "../shared/there.js";
import { now } from "./cursor.js";
import { notice } from "./live.js";
import { start } from "./player.js";
import { feed } from "./reel.js";
import { recorded } from "./replay_file.js";

/** @import { Line } from "./lines.py" */
/** @import { Config } from "./player.py" */
/** @import { ReplayData } from "./replay_file.js" */

const opened = openFile();
const config = /** @type {Config & { name: string }} */ (opened.config);
const { lines, at, show } = /** @type {ReplayData & { lines: string }} */ (opened.data);

document.body.classList.toggle("sv-excerpt", show.length > 0);
for (const part of show) document.body.classList.add("sv-show-" + part);
start(there(byId("sv-step")), { value: null }, idle, idle, config);
now.link ??= at;
/** @type {Promise<Line[]>} */ (unpack(lines)).then(
  (found) => feed(recorded(found)),
  () => notice(unreadable("run")),
);

// A file has no events of Gradio.
function idle() {}
