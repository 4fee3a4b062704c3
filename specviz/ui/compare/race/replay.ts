// A race in a file of its own (see replay.py): the same lanes and table, from data that the file
// contains.

import { byId } from "../../shared/dom";
import { openFile, unpack, unreadable } from "../../shared/offline";
import { required } from "../../shared/required";
import { start } from "./race";
import { notify, open } from "./runs";

import type { Line } from "./lines.py";
import type { Config } from "./recorded.py";
export type RaceConfig = Config & { name: string };

const opened = openFile();
const config = opened.config as RaceConfig;
window.specviz = {
  [config.name]: start(required(byId("sv-race")), { value: null }, idle, idle, config),
};
(unpack(opened.data.lines) as Promise<Line[]>).then(
  (lines) => open(lines),
  () => notify(unreadable("race")),
);

// A file has no events of Gradio.
function idle() {}
