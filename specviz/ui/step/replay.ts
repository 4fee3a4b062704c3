// A run in a separate file (see replay.py): the same player, with data from the file.

import { openFile, startInFile, unpack, unreadable } from "../shared/offline";
import { feed, player } from "./state";
import { notice } from "./live";
import { showDetails } from "./mode";
import { start } from "./player";
import { recorded } from "./replay_file";
import { showLanes } from "./lanes";

import type { Line } from "./lines.py";
import type { Config } from "./player.py";
import type { ReplayData } from "./replay_file";

const { config, data } = openFile<Config, ReplayData>();
const { lines, at, show, simple = false } = data;

document.body.classList.toggle("sv-excerpt", show.length > 0);
for (const part of show) document.body.classList.add("sv-show-" + part);
startInFile(start, config);
showDetails(!simple);
player.link ??= at;
unpack<Line>(lines).then(
  (found) => {
    feed(recorded(found));
    if (show.includes("race")) showLanes(Number.POSITIVE_INFINITY, "everyday");
  },
  () => notice(unreadable("run")),
);
