// A race in a file of its own (see replay.py): the same lanes and table, from data that the file
// contains.

import { openFile, startInFile, unpack, unreadable } from "../../shared/offline";
import { start } from "./race";
import { notify, open } from "./runs";

import type { Line } from "./lines.py";
import type { Config } from "./recorded.py";

const { config, data } = openFile<Config, object>();
startInFile(start, config);
unpack<Line>(data.lines).then(open, () => notify(unreadable("race")));
