// A run in a separate file (see replay.py): the same player, with data from the file.

import { byId } from "../shared/dom";
import { openFile, unpack, unreadable } from "../shared/offline";
import { required } from "../shared/required";
import { feed, player } from "./state";
import { notice } from "./live";
import { showDetails } from "./mode";
import { start } from "./player";
import { recorded } from "./replay_file";
import { showLanes } from "./lanes";

import type { Line } from "./lines.py";
import type { Config } from "./player.py";
import type { ReplayData } from "./replay_file";

const opened = openFile();
const config = opened.config as Config & { name: string };
const { lines, at, show, simple = false } = opened.data as ReplayData & { lines: string };

document.body.classList.toggle("sv-excerpt", show.length > 0);
for (const part of show) document.body.classList.add("sv-show-" + part);
window.specviz = {
  [config.name]: start(required(byId("sv-step")), { value: null }, idle, idle, config),
};
showDetails(!simple);
player.link ??= at;
(unpack(lines) as Promise<Line[]>).then(
  (found) => {
    feed(recorded(found));
    if (show.includes("race")) showLanes(Number.POSITIVE_INFINITY, "everyday");
  },
  () => notice(unreadable("run")),
);

// A file has no events of Gradio.
function idle() {}
