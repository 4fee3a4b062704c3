"""Pure functions of the page's JavaScript modules, called one by one."""

import json
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from specviz.catalog.entry import entries, settings_read_by, with_defaults
from specviz.settings.settings import summarize_draft
from specviz.ui.compare.race import form, lane, request
from specviz.ui.compare.race.request import FormLane, RaceRequest, suits
from specviz.ui.routes import module_address


@pytest.fixture(scope="module")
def page(browser, url):
    """The page, whose modules are called."""
    made = browser.new_page()
    made.goto(url)
    yield made
    made.close()


@pytest.fixture(scope="module")
def call(page):
    """Call an exported function of a module by name with JSON arguments; return its result."""

    def called(module, name, *values):
        script = """async ([address, name, values]) =>
          (await import(new URL(address, document.baseURI)))[name](...values)"""
        return page.evaluate(script, [module_address(module), name, list(values)])

    return called


@pytest.mark.parametrize(
    ("patch", "is_"),
    [
        ({}, {"a": 1, "b": {"c": [1, 2], "d": 3}}),
        ({"a": None}, {"b": {"c": [1, 2], "d": 3}}),
        ({"b": {"d": None, "c": [9]}}, {"a": 1, "b": {"c": [9]}}),
        ({"a": {"x": None, "y": 2}}, {"a": {"y": 2}, "b": {"c": [1, 2], "d": 3}}),
    ],
)
def test_merge_patch_restores_a_frame_from_the_first_of_its_round(call, patch, is_):
    old = {"a": 1, "b": {"c": [1, 2], "d": 3}}
    assert call("step/reel", "merged", old, patch) == is_


@pytest.mark.parametrize(
    ("pointed", "threshold", "laid"),
    [
        (0.4321, 0.7, 0.43),
        (0.6996, 0.7, 0.6996),
        (0.6986, 0.7, 0.699),
        (0.7004, 0.7, 0.7),
        (-3, 0.7, 0),
        (5, 0.7, 0.999),
        (0.50049, 0.5005, 0.5),
    ],
)
def test_dragged_u_snaps_to_hundredths_but_never_across_the_threshold(
    call, pointed, threshold, laid
):
    found = call("step/what_if", "snapped", pointed, threshold)
    assert (found < threshold) == (min(max(pointed, 0), 0.999) < threshold)
    assert found == pytest.approx(laid)


@pytest.mark.parametrize(
    ("u", "threshold", "digits"),
    [(0.3, 0.7, 2), (0.699, 0.7, 3), (0.70004, 0.7, 5), (0.5, 0.5, 2), (0.6999999, 0.7, 6)],
)
def test_u_is_shown_with_enough_decimals_to_differ_from_the_threshold(call, u, threshold, digits):
    assert call("step/what_if", "digitsApart", u, threshold) == digits


@pytest.mark.parametrize(
    ("needed", "chances", "found"),
    [
        ([[1, 0], [2, 1]], {"1": [0.3, 0.3], "2": [0.5, 0.5]}, {"is": "sure"}),
        ([[1, 0], [2, 1]], {"1": [1, 1], "2": [0.5, 0.5]}, {"is": "never", "node": 1, "chance": 1}),
        ([[1, 1]], {"1": [0, 0]}, {"is": "never", "node": 1, "chance": 0}),
        ([[1, 0]], {"1": [0, 0]}, {"is": "sure"}),
        ([[1, 1]], {"1": [1, 1]}, {"is": "sure"}),
        ([[1, 0], [2, 1]], {"1": [0.3, 0.3]}, {"is": "may", "node": 2}),
        ([[2, 1]], {"2": [0.2, 1]}, {"is": "sure"}),
        ([[2, 0]], {"2": [0.2, 1]}, {"is": "may", "node": 2}),
        ([[2, 0], [3, 1]], {"3": [0, 0]}, {"is": "never", "node": 3, "chance": 0}),
    ],
)
def test_what_if_text_predicts_only_possible_outcomes(call, needed, chances, found):
    assert call("step/what_if", "prospect", needed, chances) == found


def trial(threshold, accepted, **more):
    """A verdict as the page receives it."""
    text = {"p": "0.34", "q": "0.50", "threshold": f"{threshold:.2f}", "u": "0.40"}
    stuck = {"stuck": []} if threshold in (0, 1) else {}
    laws = {"p": "target p", "q": "drafter q", "left": []}
    panel = {"w": ["x"], "accepted": accepted, "q": 0.5, "laws": laws, "text": text}
    coin = {"u": 0.4, "threshold": threshold}
    whole = panel | {"coin": coin, "whatif": stuck} | more
    return whole if whole["q"] is not None else {k: whole[k] for k in whole if k != "q"}


def plain(parts):
    return "".join(
        p if isinstance(p, str) else p.get("n") or p.get("t") or "".join(p["w"]) for p in parts
    )


GREEDY = {"coin": None, "whatif": None}
LATER = {"laws": {"p": "left of p", "q": "left of q", "left": ["p", "q"]}}
ALONE = {"q": None, "laws": {"p": "target p", "none": "not drawn by chance", "left": []}}


@pytest.mark.parametrize(
    ("panel", "kept", "good", "said"),
    [
        (trial(0.68, True), True, True, ("Right: p ÷ q = 0.68, so the probability of "
         "acceptance is 0.68: “accepted” was the likelier outcome. The coin is 0.40.")),
        (trial(0.68, False), True, True, "“accepted” was the likelier outcome."),
        (trial(0.68, False), False, False, ("You said rejected, but p ÷ q = 0.68, so the "
         "probability of acceptance is 0.68: “accepted” was the likelier outcome.")),
        (trial(0.3, True), True, False, "“rejected” was the likelier outcome"),
        (trial(0.3, True), False, True, "Right: p ÷ q = 0.30"),
        (trial(0.5, True), True, True, "both outcomes are equally likely"),
        (trial(0.5, True), False, True, "both outcomes are equally likely"),
        (trial(1, True), False, False, "You said rejected, but p ≥ q, so it is always accepted."),
        (trial(1, True), True, True, "Right: p ≥ q, so it is always accepted."),
        (trial(0, False), True, False, "You said accepted, but p is 0, so it is never accepted."),
        (trial(0, False, **LATER), False, True, "Right: p′ is 0, so it is never accepted."),
        (trial(0.68, True, **LATER), True, True, "Right: p′ ÷ q′ = 0.68"),
        (trial(0.68, True, **ALONE), True, True, ("Right: p = 0.68, and without q a guess is "
         "accepted with probability p")),
        (trial(1, True, **GREEDY), True, True, "Right: x is the target's top token"),
        (trial(0, False, **GREEDY), True, False, "You said accepted, but x is not the target"),
    ],
)  # fmt: skip
def test_prediction_is_scored_by_the_probability_and_not_by_u(call, panel, kept, good, said):
    found = call("step/predict_first", "scorePrediction", panel, kept)
    assert found["good"] is good
    assert said in plain(found["parts"])


@pytest.mark.parametrize(
    ("panel", "guess", "off", "said"),
    [
        (trial(0.68, True), 0.6, 0.08, "You said 0.60, off by 0.08; it is 0.68: p ÷ q = 0.68."),
        (trial(0.68, True), 0.68, 0, "You said 0.68, exact to two decimals: p ÷ q = 0.68."),
        (trial(1, True), 0.9, 0.1, "off by 0.10; it is 1: p ≥ q, so it is always accepted."),
        (trial(0, False), 0.25, 0.25, "off by 0.25; it is 0: p is 0, so it is never accepted."),
    ],
)  # fmt: skip
def test_estimated_probability_is_scored_by_its_error(call, panel, guess, off, said):
    found = call("step/predict_first", "scoreEstimate", panel, guess)
    assert found["off"] == pytest.approx(off)
    assert said in plain(found["parts"])


@pytest.mark.parametrize(
    ("seconds", "passes"), [(0, 0), (0.99, 0), (1, 1), (1.5, 1), (2.5, 2), (9, 3)]
)
def test_pass_is_counted_only_after_it_has_ended(call, seconds, passes):
    assert call("compare/race/lines", "passesBy", {"ends": [1, 2.5, 4]}, seconds) == passes


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "–"),
        (7, "7"),
        (999.4, "999"),
        (999.6, "1.0 k"),
        (22_000_000, "22 M"),
        (151_000_000, "151 M"),
    ],
)
def test_large_numbers_have_two_or_three_digits_and_a_unit(call, value, said):
    assert call("compare/race/words", "scaled", value, ["", "k", "M"]) == said


def test_recording_is_parsed_as_json_lines(call):
    text = "".join(json.dumps({"kind": kind}) + "\n" for kind in ("run", "round"))
    assert call("shared/job", "parseLines", text) == [{"kind": "run"}, {"kind": "round"}]


def test_word_that_does_not_fit_starts_a_new_line(call):
    assert call("step/size", "linesOf", "one two", 7) == 1
    assert call("step/size", "linesOf", "one two", 6) == 2
    assert call("step/size", "linesOf", "a bcdefghi j", 9) == 3
    assert call("step/size", "linesOf", "a bcdefghijklm", 9) == 3


JOB = """async (address) => {
  const { Job } = await import(new URL(address, document.baseURI));
  const told = [];
  const words = Object.fromEntries(["asking", "dropping", "stopping", "stopped", "unbegun",
    "untaken", "lost"].map((word) => [word, word]));
  const job = new Job({ kind: "run", words, waits: { loading: "loads" },
    turn: (under) => told.push(under ? "on" : "off"),
    wait: (said, numbers = "") => told.push(said + numbers),
    end: (said, server) => told.push((server ? "server " : "page ") + said),
    take: (lines) => lines.forEach((each) => job.state(each)) });
  const line = (kind, more) => ({ kind, ...more });
  const hear = (each) => job.hear([each]);
  %s
  return told;
}"""


@pytest.mark.parametrize(
    ("story", "told"),
    [
        ("job.begin(); job.ended();", ["on", "asking", "off", "page untaken"]),
        ("job.begin(); hear(line('run')); job.ended();", ["on", "asking", "off", "page lost"]),
        (
            "job.begin(); job.stop(); hear(line('state', { state: 'stopped' })); job.ended();",
            ["on", "asking", "dropping", "server unbegun", "off"],
        ),
        (
            "job.begin(); hear(line('state', { state: 'loading' })); job.wanted = 0; job.ended();",
            ["on", "asking", "loads", "off"],
        ),
        (
            "job.begin(); hear(line('state', { state: 'lending', seconds: 12 })); job.ended();",
            ["on", "asking", "Requesting a GPU for at most 12 seconds.", "off", "page lost"],
        ),
        (
            (
                "job.begin(); hear(line('state', { state: 'loading', model: 'SmolLM2',"
                " stage: 'reading the weights', done: 61e6, of: 1097e6, left: 1 })); job.ended();"
            ),
            [
                "on",
                "asking",
                "Loading SmolLM2: reading the weights. 61 of 1,097 MB, about 1 second left.",
                "off",
                "page lost",
            ],
        ),
        (
            (
                "job.begin(); hear(line('state', { state: 'loading', stage: 'up', spent: 1 }));"
                " hear(line('state', { state: 'loading', stage: 'up', spent: 2 })); job.ended();"
            ),
            ["on", "asking", "Up.", "Up. 2 seconds so far.", "off", "page lost"],
        ),
        (
            "job.begin(); hear(line('state', { state: 'overdue', seconds: 60 })); job.ended();",
            [
                "on",
                "asking",
                "server Ended after 1 minute, the limit for one job here. There was no result yet.",
                "off",
            ],
        ),
        (
            (
                "job.begin(); job.stop(); hear(line('state', { state: 'loading', stage: 'x' }));"
                " hear(line('state', { state: 'stopped' })); job.ended();"
            ),
            ["on", "asking", "dropping", "server unbegun", "off"],
        ),
        (
            "job.begin(); hear(line('state', { state: 'done' })); job.ended();",
            ["on", "asking", "off"],
        ),
        (
            "job.begin(); const n = job.number; job.begin(); told.push(job.number > n);",
            ["on", "asking", "on", "asking", True],
        ),
    ],
)
def test_job_reports_why_it_ended(page, story, told):
    assert page.evaluate(JOB % story, module_address("shared/job")) == told


WRITTEN = """async (address) => {
  const { render, Sentence } = await import(new URL(address, document.baseURI));
  const element = document.createElement("p"), seen = [];
  for (const said of [["Loading.", " 1 MB."], ["Loading.", " 2 MB."], ["<b>Done.", ""]]) {
    const before = element.firstChild;
    render(Sentence(...said), element);
    seen.push([element.innerHTML, element.firstChild === before]);
  }
  return seen;
}"""


def test_changing_numbers_are_not_announced_by_screen_readers(page):
    """The text node of a sentence stays while only its numbers change."""
    numbers = '<span class="sv-numbers" aria-hidden="true"> {} MB.</span>'
    assert page.evaluate(WRITTEN, module_address("shared/view")) == [
        ["Loading." + numbers.format(1), False],
        ["Loading." + numbers.format(2), True],
        ["&lt;b&gt;Done.", True],
    ]


DRAFTERS = [entry.name for entry in entries() if entry.kind == "drafter"]


def drafter(name):
    """Return what the script of the form knows about a drafter."""
    return form.config(form.opening())["drafters"][name]


def settings_of(name, text):
    """Return the settings of a lane as the server parses them."""
    lanes = (FormLane(name, text), FormLane("ngram", ""))
    return RaceRequest("Once", "house", 0, 0, 1, 7, 12, lanes).race().lanes[0].settings


@pytest.mark.parametrize("name", DRAFTERS)
def test_fields_of_a_lane_write_the_settings_text_of_its_drafter(call, name):
    rows, known = lane.rows(), drafter(name)
    assert call(
        "compare/race/lane_settings", "settingsText", rows, known, "", known["defaults"]
    ) == suits(name)
    told = summarize_draft(with_defaults(name, {}), settings_read_by(name))
    assert call("compare/race/lane_settings", "summary", rows, known, suits(name)) == told


LANES = {(one.drafter, one.settings) for preset in request.presets() for one in preset.lanes}
LANES |= {("draft-model", "gamma=3 siblings=3,2 confidence=0.15 rule=point-mass")}
LANES |= {("ngram", "gamma=4 ngram-max=5"), ("medusa", "gamma=2 rank-paths=")}


@pytest.mark.parametrize(("name", "text"), sorted(LANES))
def test_lane_settings_round_trip_through_the_fields(call, name, text):
    rows, known = lane.rows(), drafter(name)
    values = call("compare/race/lane_settings", "fieldValues", rows, known, text)
    again = call("compare/race/lane_settings", "settingsText", rows, known, text, values)
    settings = settings_of(name, text)
    assert settings_of(name, again) == settings
    by_name = {row["name"]: value for row, value in zip(rows, values, strict=True)}
    for field in lane.rows():
        wanted = getattr(settings, field["name"])
        said = ", ".join(map(str, wanted)) if field["kind"] == "wholes" else wanted
        assert field["kind"] == "paths" or by_name[field["name"]] == said
    told = summarize_draft(settings.to_json(), settings_read_by(name))
    assert call("compare/race/lane_settings", "summary", rows, known, text) == told


def test_lane_text_contains_only_settings_that_differ_from_the_default(call):
    rows, known = lane.rows(), drafter("draft-model")
    names = [row["name"] for row in rows]
    values = list(known["defaults"])
    changes = {"confidence": 0.15000000000000002, "siblings": "3, 2, ", "candidates": "greedy"}
    for name, value in changes.items():
        values[names.index(name)] = value
    text = call("compare/race/lane_settings", "settingsText", rows, known, "gamma=5", values)
    found = settings_of("draft-model", text)
    assert (found.confidence, found.siblings, found.candidates) == (0.15, [3, 2], "greedy")
    usual = known["defaults"]
    assert call("compare/race/lane_settings", "settingsText", rows, known, text, usual) == suits(
        "draft-model"
    )


def test_count_of_hidden_tokens_fits_its_column(call):
    assert call("step/residual_table", "others", 4088) == "4,088 others"
    assert call("step/residual_table", "others", 49144) == "49 k others"


CHANGED = """async (address) => {
  const gradio = await import(new URL(address, document.baseURI));
  const drawn = document.createElement("div");
  drawn.id = "sv-made-up";
  document.body.append(drawn);
  const found = [gradio.fieldOf("sv-made-up"), gradio.fieldOf("sv-made-up"),
    gradio.fieldOf("nowhere"), gradio.tabButton("sv-made-up", "Step"),
    gradio.dropdownAt(drawn), gradio.dropdownAt(null)];
  gradio.noTab("Step");
  gradio.noTab("Step");
  drawn.remove();
  return found;
}"""


def test_missing_gradio_element_gives_null_and_one_warning(page):
    told = []
    page.on("console", lambda message: told.append((message.type, message.text)))
    assert page.evaluate(CHANGED, module_address("shared/gradio")) == [None] * 6
    assert told == [
        ("warning", "specviz: Gradio draws no field in #sv-made-up."),
        ("warning", "specviz: Gradio draws no button for the tab Step."),
    ]


def test_animation_callback_with_unreadable_source_still_runs(page):
    """A callback whose source cannot be read is handled like any other."""
    drawn = page.evaluate(
        """() => new Promise((done) => {
          const step = () => done("drawn");
          step.toString = () => { throw new Error("no source"); };
          requestAnimationFrame(step);
        })"""
    )
    assert drawn == "drawn"


GIF = """async ([address, width, height, pictures]) => {
  const { Gif } = await import(new URL(address, document.baseURI));
  const gif = new Gif(width, height);
  for (const [values, seconds] of pictures) gif.add(new Uint8ClampedArray(values), seconds);
  const bytes = new Uint8Array(await gif.blob().arrayBuffer());
  return btoa([...bytes].map((byte) => String.fromCharCode(byte)).join(""));
}"""


def film(page, pictures, seconds):
    """Write pictures as an animated GIF in the browser, and read it with Pillow."""
    opaque = [np.dstack([each, np.full(each.shape[:2], 255, np.uint8)]) for each in pictures]
    listed = [[each.ravel().tolist(), time] for each, time in zip(opaque, seconds, strict=True)]
    height, width = pictures[0].shape[:2]
    address = module_address("shared/gif")
    data = page.evaluate(GIF, [address, width, height, listed])
    return Image.open(BytesIO(b64decode(data)))


def decoded(film):
    """Return the pictures of an animated GIF, and how many milliseconds each is shown."""
    shown = []
    for number in range(film.n_frames):
        film.seek(number)
        shown.append((np.asarray(film.convert("RGB")), film.info["duration"]))
    return shown


def test_animated_image_with_few_colours_shows_the_exact_pictures(page):
    """The compressor's dictionary is reset on the way, and two successive pictures are equal."""
    random = np.random.default_rng(1)
    colours = random.integers(0, 256, (250, 3), dtype=np.uint8)
    first = colours[random.integers(0, 250, (90, 120))]
    second = first.copy()
    second[20:31, 7:50] = colours[3]
    third = second.copy()
    third[89, 119] = 255 - third[89, 119]
    found = film(page, [first, second, second, third], [0.45, 1, 2, 4])
    assert (found.size, found.info["loop"]) == ((120, 90), 0)
    shown = decoded(found)
    assert [time for _, time in shown] == [450, 1000, 2000, 4000]
    for (picture, _), drawn in zip(shown, [first, second, second, third], strict=True):
        assert (picture == drawn).all()


def test_animated_image_with_many_colours_keeps_frequent_and_striking_colours(page):
    rows, columns = np.mgrid[0:96, 0:128]
    smooth = np.dstack([rows * 2, columns * 2, (rows + columns)]).astype(np.uint8)
    smooth[:40] = (250, 249, 247)
    smooth[90, 60:64] = (255, 0, 200)
    ((picture, _),) = decoded(film(page, [smooth], [1]))
    assert (picture[:40] == (250, 249, 247)).all()
    assert (picture[90, 60:64] == (255, 0, 200)).all()
    apart = np.abs(picture.astype(int) - smooth).max(axis=2)
    assert np.mean(apart) < 12
    assert apart.max() < 40
