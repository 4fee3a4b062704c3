"""The headline table's data: every published number with its source, ours apart, text as text."""

import json
from dataclasses import replace

import pytest

from specviz.cost.sources import (
    EVIDENCE,
    NOT_STATED,
    Published,
    Source,
    boards,
    published_numbers,
)
from specviz.shipped import measured
from specviz.ui.component import script
from specviz.ui.cost.published import section
from specviz.ui.cost.published.section import NAME, config, drafters, ours, row
from specviz.ui.routes import HALF

HOSTILE = "<img src=x onerror=alert(1)>${alert(1)}</script>"
FACTS = {
    "machine": {"device": "2 CPU cores"},
    "threads": 2,
    "dtype": "float32",
    "prompts": 3,
    "new_tokens": 64,
    "rows": [
        {"name": "eagle", "domain": domain, "temperature": t, "ratio_to_plain": ratio,
         "tokens_per_pass": 3.0, "alpha": 0.8}
        for domain, t, ratio in (("stories", 0.0, 1.0), ("maths", 0.0, 2.0), ("maths", 1.0, 9.0))
    ],
}  # fmt: skip


def published(**changes):
    """A made-up number from a made-up paper."""
    source = Source("A paper", "https://example.org/paper", "S", "")
    usual = Published("EAGLE", "Fast.", 2.0, 3.0, "×", "m", "t", "h", "c", source)
    return replace(usual, **changes)


def test_every_published_number_is_there_with_its_source_and_how_it_was_read():
    rows = config()["rows"]
    assert len(rows) == len(published_numbers()) > 20
    for made, known in zip(rows, published_numbers(), strict=True):
        assert made["method"] == known.method
        assert f"{known.high:g}" in made["number"]
        assert made["source"]["title"]
        assert made["source"]["url"].startswith("https://")
        assert made["source"]["evidence"] in EVIDENCE
    assert dict(config()["evidence"]) == EVIDENCE


@pytest.mark.parametrize(
    ("low", "high", "unit", "said", "kind"),
    [
        (2.8, 2.8, "×", "2.8 ×", "speed-up"),
        (2.7, 3.5, "×", "2.7 to 3.5 ×", "speed-up"),
        (1.8, 1.8, "× slower", "1.8 × slower", "slower"),
        (80, 80, "%", "80%", "accepted"),
    ],
)
def test_numbers_are_said_as_they_were_published(low, high, unit, said, kind):
    each = published(low=low, high=high, unit=unit)
    assert each.number == said
    assert row(each)["kind"] == kind


def test_every_row_has_a_place_of_its_own_and_second_hand_ones_are_counted():
    known = config()
    places = [row["place"] for row in known["rows"]]
    places += [row["place"] for board in known["boards"] for row in board["rows"]]
    assert len(set(places)) == len(places)
    number = sum(row["source"]["evidence"] == "2" for row in known["rows"])
    assert known["secondhand"].startswith(
        f"{number} of these {len(published_numbers())} numbers are second"
    )


def test_slowdowns_sort_below_speedups():
    slower, gain = published(low=1.4, high=1.4, unit="× slower"), published(low=1.01, high=1.01)
    assert row(slower)["gain"] < 1.0 < row(gain)["gain"]


def test_unstated_facts_are_empty():
    unsaid = row(published(model=NOT_STATED))
    assert unsaid["model"] == ""
    assert unsaid["task"] == "t"


def test_a_board_has_every_row_the_fastest_first():
    for made, known in zip(config()["boards"], boards(), strict=True):
        assert {r["method"] for r in made["rows"]} == {r.method for r in known.rows}
        overall = [float(r["overall"]) for r in made["rows"]]
        assert overall == sorted(overall, reverse=True)
        assert all(len(r["speedups"]) == len(made["tasks"]) for r in made["rows"])
        assert made["source"]["url"].startswith("https://")


def test_own_numbers_have_their_own_columns_with_the_machine():
    own = ours(FACTS, [published(), published(low=1.5, high=1.5, unit="× slower")])
    assert own["heading"] == "House models, measured on 2 CPU cores"
    (only,) = own["rows"]
    assert only["published"] == "1.5 × slower to 3 ×"
    assert only["speedup"] == "1.33 ×"  # as long at 1 as at 2
    assert only["apart"] == "1.00 × (stories) to 2.00 × (maths)"
    assert (only["passes"], only["alpha"]) == ("3.00", "0.80")


def test_unmeasured_family_is_labelled():
    (only,) = ours(FACTS, [published(method="Hydra", unit="%")])["rows"]
    assert only["published"] == ""
    assert only["apart"] == "not measured"


def test_every_family_has_a_drafter_of_ours_and_the_card_measured_it():
    names = {found["name"] for found in measured()["rows"]}
    for each in published_numbers():
        assert drafters()[each.method] in names


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_without_a_card_that_can_be_read_there_is_no_column_of_ours(text, tmp_path, monkeypatch):
    path = tmp_path / "measured.json"
    if text is not None:
        path.write_text(text)
    monkeypatch.setattr(section, "measured", lambda: measured(path))
    assert config()["ours"] is None


@pytest.mark.parametrize("name", ["method", "says", "model", "task", "hardware", "conditions"])
def test_hostile_words_reach_the_script_as_data(name, monkeypatch):
    monkeypatch.setattr(section, "published_numbers", lambda: (published(**{name: HOSTILE}),))
    text = script(NAME, "cost/published/published", config())
    assert "<" not in text
    data = json.loads(text.split("watch, trigger, ")[1].removesuffix("));"))
    assert data["rows"][0][name] == HOSTILE


def test_the_modules_set_text_and_never_markup():
    paths = [*HALF.rglob("*.js"), *HALF.rglob("*.html")]
    assert len(paths) > 50
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert not [word for word in ("innerHTML", "insertAdjacent", "eval(") if word in text]
        assert path.suffix != ".html" or "${" not in text


def test_a_source_that_is_no_link_is_refused():
    with pytest.raises(ValueError, match="needs a title and a link"):
        Source("A paper", "javascript:alert(1)", "S", "")
