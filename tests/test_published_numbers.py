"""Published numbers on the page: sources, escaped text, our own columns, the nearest report."""

import re
from dataclasses import replace
from html import unescape

import pytest

from specviz.cost.published import (
    Setup,
    board_numbers,
    nearest_reports,
    same_machine,
    under_other_load,
    unstated_facts,
)
from specviz.cost.sources import (
    NOT_STATED,
    Published,
    Source,
    boards,
    published_numbers,
)
from specviz.shipped import measured
from specviz.ui.cost import published as section
from specviz.ui.cost.published import (
    COLUMNS,
    READ,
    START,
    drafters,
    ours,
    respond,
    row,
    secondhand,
)
from specviz.ui.routes import UI_FOLDER

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
    usual = Published("EAGLE-1", "Fast.", 2.0, 3.0, "×", "m", "t", "h", "c", source)
    return replace(usual, **changes)


def asked(**values):
    """Return the answer and the table: its columns, its rows, and what its cells show."""
    found = respond({**START, **values})
    value = found["table"]["value"]
    shown = value["metadata"]["display_value"]
    return found["answer"], value["headers"], value["data"], shown


def test_every_published_number_has_its_source_and_evidence():
    answer, columns, rows, shown = asked()
    known = [*published_numbers(), *board_numbers()]
    assert len(rows) == len(shown) == len(known) > 60
    assert columns == list(COLUMNS)
    for cells, texts, each in zip(rows, shown, known, strict=True):
        assert cells[0] == each.method
        assert f"{each.high:g}" in texts[1]
        assert texts[4].startswith("[")
        assert f"]({each.source.url})" in texts[4]
        assert cells[5] == READ[each.source.evidence]
    assert answer.startswith(
        "66 published speed-ups (41 from Spec-Bench) range from 1.8 × slower to 6.5 ×;"
    )
    speedups = [each for each in published_numbers() if each.unit != "%"]
    number = sum(each.source.evidence == "2" for each in speedups)
    assert secondhand().startswith(f"{number} of the {len(speedups)} speed-ups")


def test_published_numbers_are_displayed_as_in_their_source():
    for low, high, unit, said in (
        (2.8, 2.8, "×", "2.8 ×"),
        (2.7, 3.5, "×", "2.7 to 3.5 ×"),
        (1.8, 1.8, "× slower", "1.8 × slower"),
        (80, 80, "%", "80% accepted"),
    ):
        assert row(published(low=low, high=high, unit=unit))[1][1] == said
    accepted, slower, gain = (
        row(published(low=number, high=number, unit=unit))[1][0]
        for number, unit in ((80, "%"), (1.4, "× slower"), (1.01, "×"))
    )
    assert accepted < slower < 1.0 < gain, "by which they are sorted"
    unsaid = published(model=NOT_STATED, hardware=NOT_STATED)
    assert row(unsaid)[3] == "t; c; no model or hardware in the source"


def test_table_is_filtered_by_family_and_by_where_it_was_measured():
    answer, _, rows, _ = asked(family="EAGLE-3")
    assert {cells[0] for cells in rows} == {"EAGLE-3"}
    assert "of EAGLE-3 (1 from Spec-Bench) range from 1.38 to 6.5 ×" in unescape(answer)
    _, _, papers, _ = asked(place="papers")
    assert len(papers) == len(published_numbers())
    for change in ({"family": "<b>"}, {"place": "9"}, {"place": None}):
        with pytest.raises(ValueError, match="There is no such"):
            asked(**change)


def test_leaderboard_lists_every_method_fastest_first():
    for at, board in enumerate(boards()):
        answer, columns, rows, shown = asked(place=str(at))
        best, *_ = sorted(board.rows, key=lambda found: -found.overall)
        assert columns[3:] == board.tasks
        assert [cells[1] for cells in rows] == sorted((r.overall for r in board.rows), reverse=True)
        assert f"{best.method} is fastest, {best.overall:.2f} × plain decoding" in answer
        assert shown[0][3:] == [f"{value:.2f} ×" for value in best.speedups]
        assert board.source.url in answer
    _, _, (only,), _ = asked(family="draft model", place="0")
    assert only[0] == "SpS (a draft model)"


def test_our_own_numbers_have_separate_columns_naming_the_machine(monkeypatch):
    monkeypatch.setattr(section, "measured", lambda: FACTS)
    how, only = (
        ours([published(), published(low=1.5, high=1.5, unit="× slower")]).split("\n")[at]
        for at in (0, -1)
    )
    assert "2 CPU cores" in how
    cells = ["EAGLE-1", "1.5 × slower to 3 ×", "**1.33 ×**"]  # the harmonic mean of 1 and 2
    cells += ["1.00 × (stories) to 2.00 × (maths)", "3.00", "0.80"]
    assert only == f"| {' | '.join(cells)} |"
    other = ours([published(method="Hydra", unit="%")]).split("\n")[-1]
    assert other == "| Hydra |  | – | not measured | – | – |"


def test_every_published_family_has_a_drafter_that_we_measured():
    names = {found["name"] for found in measured()["rows"]}
    for each in published_numbers():
        assert drafters()[each.method] in names


def test_unreadable_measurements_remove_our_numbers(tmp_path, monkeypatch):
    path = tmp_path / "measured.json"
    monkeypatch.setattr(section, "measured", lambda: measured(path))
    for text in (None, "{", "[]"):
        if text is not None:
            path.write_text(text)
        assert ours(published_numbers()) == "", text


def test_html_in_published_data_is_shown_as_text(monkeypatch):
    names = ("method", "says", "model", "task", "hardware", "conditions")
    hostile = published(**dict.fromkeys(names, HOSTILE))
    monkeypatch.setattr(section, "published_numbers", lambda: (hostile,))
    answer, _, rows, shown = asked(family=HOSTILE)
    assert rows[0][0] == HOSTILE
    for text in (answer, *shown[0]):
        assert not re.search(r"(?<!\\)[<`$]", text), text


def test_browser_code_never_inserts_html():
    paths = [*UI_FOLDER.rglob("*.ts*"), *UI_FOLDER.rglob("*.html")]
    assert len(paths) > 50
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|InnerHTML|insertAdjacent|eval\(", text), path
        assert path.suffix != ".html" or "${" not in text, path


def found(kind, batch, model="llama-3.1-8b", machine="h100-sxm"):
    return nearest_reports(Setup(kind, batch, model, machine))


def test_nearest_reports_prefer_the_same_batch():
    server, alone = found("head", 64)
    assert (server.method, server.number, server.batch) == ("EAGLE-3", "1.38 ×", 64)
    assert unstated_facts(server) == ["model", "hardware"]
    assert (alone.number, alone.model, alone.hardware) == ("2.36 ×", "Llama-3.1-8B", "H100")
    assert unstated_facts(alone) == []
    assert found("head", 1) == [alone]


def test_heavy_load_counts_as_a_large_batch_size():
    busy, *_ = found("n-gram", 512)
    assert (busy.number, busy.load) == ("1.8 × slower", "heavy")
    assert unstated_facts(busy) == ["batch"]
    assert found("model", 256)[0].number == "1.4 × slower"
    assert found("n-gram", 1, "llama-3.1-70b")[0].number == "2.8 ×"


def test_report_of_the_same_model_is_shown_although_its_drafter_is_of_another_kind():
    of_the_model, of_the_kind = found("head", 32, "llama-3.1-70b")
    assert (of_the_model.number, of_the_model.model) == ("1.4 × slower", "Llama-3-70B")
    assert under_other_load(of_the_model).number == "1.5 ×"
    assert (of_the_kind.number, of_the_kind.model) == ("1.38 ×", NOT_STATED)
    assert under_other_load(of_the_kind) is None


def test_reports_with_equal_batch_size_are_chosen_by_model_and_machine():
    a100, h100 = (found("model", 1, machine=name)[-1] for name in ("a100-sxm", "h100-sxm"))
    assert "A100" in a100.hardware
    assert a100.model == h100.model == "Vicuna-7B-v1.3"
    assert "33B" in found("head", 1, "llama-3.1-70b", "a100-sxm")[0].model
    assert same_machine("4 × H100", "h100-sxm")
    assert not same_machine("NVIDIA GeForce RTX 3090", "rtx-4090")
    assert not same_machine("one TPU v4", "laptop-cpu")
    assert found("head", 1, "house") == found("n-gram", 8, "house-draft") == []
