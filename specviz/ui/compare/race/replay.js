// A race in a file of its own (see replay.py): the same lanes and table, from data that the file
// contains.

import { byId } from "../../shared/dom.js";
import { openFile, unpack, unreadable } from "../../shared/offline.js";
import { there } from "../../shared/there.js";
import { start } from "./race.js";
import { notify, open } from "./runs.js";

/** @import { Line } from "./lines.py" */
/** @import { Config } from "./recorded.py" */
/** @typedef {Config & { name: string }} RaceConfig */

const { config, data } = openFile();
start(there(byId("sv-race")), { value: null }, idle, idle, /** @type {RaceConfig} */ (config));
/** @type {Promise<Line[]>} */ (unpack(data.lines)).then(
  (lines) => open(lines),
  () => notify(unreadable("race")),
);

// A file has no events of Gradio.
function idle() {}
