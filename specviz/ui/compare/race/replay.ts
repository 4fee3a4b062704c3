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

const { config, data } = openFile();
start(required(byId("sv-race")), { value: null }, idle, idle, config as RaceConfig);
(unpack(data.lines) as Promise<Line[]>).then(
  (lines) => open(lines),
  () => notify(unreadable("race")),
);

// A file has no events of Gradio.
function idle() {}
