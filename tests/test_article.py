"""The article's own figures, formulas and side notes."""

import json
import re
from html import unescape
from xml.etree import ElementTree

import pytest
from test_embed import HOSTILE

from specviz.cost.formula import expected_tokens, measured_point, speedup
from specviz.frames.scene import flat
from specviz.ui.learn import article as package
from specviz.ui.learn.article import FILE, article
from specviz.ui.learn.article.formulas import FORMULAS
from specviz.ui.learn.figures import FIGURES, OwnFigure
from specviz.ui.learn.values import find_frame, read_trace

pytestmark = pytest.mark.slow
OWN = re.compile(r'data-figure="(\w+)" data-values="([^"]*)"')


def values(name):
    return json.loads(unescape(dict(OWN.findall(article()))[name]))


def test_figures_and_formulas_of_the_article_are_all_used_once():
    page = article()
    assert sorted(name for name, _ in OWN.findall(page)) == sorted(FIGURES)
    assert all(page.count(markup) == 1 for markup in FORMULAS.values())
    assert "::" not in re.sub(r"<(style|script)>.*?</\1>|::[a-z-]+ ?{", "", page, flags=re.DOTALL)


def test_formulas_are_mathml_with_the_colours_of_their_letters():
    hues = {"p": "n-p", "q": "n-q", "α": "n-both", "r": "n-residual", "c": "n-q"}
    for name, markup in FORMULAS.items():
        root = ElementTree.fromstring(markup)
        assert root.tag == "math", name
        for letter in root.iter("mi"):
            assert letter.get("class", "") == hues.get(letter.text, ""), (name, letter.text)


def test_bars_begin_with_the_likeliest_words_of_the_rejected_position():
    found = values("bars")
    rows = find_frame("01-chain", 1, "draw")["panel"]["table"]["rows"][: len(found["words"])]
    assert found["words"] == [row["w"] for row in rows]
    for column, name in enumerate("pq"):
        total = sum(row["m"][column] for row in rows)
        assert found[name] == pytest.approx([row["m"][column] / total for row in rows])
        assert sum(found[name]) == pytest.approx(1)


def test_weights_show_the_measured_passes_of_the_text():
    one, six = values("weights")["passes"]
    trace = read_trace("01-chain")
    later = sorted(trace.baseline.seconds[1:])
    assert one["seconds"] == later[len(later) // 2]
    assert six["seconds"] == trace.rounds[1].scored.seconds
    assert (len(one["words"]), len(six["words"])) == (1, len(trace.rounds[1].proposed.guesses) + 1)
    text = re.sub(r"<figure.*?</figure>|<[^>]*>", "", article(), flags=re.DOTALL)
    assert f"such a pass took {six['text']}" in text
    assert f"a single token took {one['text']}" in text


def test_mask_has_the_words_of_the_pass_that_the_text_describes():
    words = [flat(word) for word in values("mask")["words"]]
    judged = flat(find_frame("09-greedy", 6, "judge-2")["tree"]["nodes"]["2"]["w"])
    assert words[2] == judged
    assert len(words) == len(read_trace("09-greedy").rounds[6].proposed.guesses) + 1


def test_gain_begins_with_the_measured_values_of_the_first_run():
    found, point = values("gain"), measured_point(read_trace("01-chain"))
    assert found["alpha"] == pytest.approx(point.alpha, abs=0.005)
    assert found["c"] == pytest.approx(point.c, abs=0.005)
    assert found["gamma"] == round(point.gamma)
    assert found["measured"] == f"{point.speedup:.2f}"


def test_note_on_the_speed_explains_the_three_numbers_of_the_first_run():
    point = measured_point(read_trace("01-chain"))
    note = re.sub(r"<[^>]*>", "", article())
    plain = speedup(point.alpha, point.gamma, point.c)
    checking = speedup(point.alpha, point.gamma, point.c, point.verify)
    assert f"the formula gives {plain:.2f}." in note
    assert f"as on the tab Cost, it gives {checking:.2f}: " in note
    assert f"The run measured {point.speedup:.2f}" in note
    assert f"{point.tokens:.2f} tokens on average" in note
    assert point.tokens > expected_tokens(point.alpha, point.gamma), "it had luck"


def test_side_note_is_beside_the_block_before_it():
    written = re.findall(r"^> ", FILE.read_text(encoding="utf-8"), re.MULTILINE)
    notes = re.findall(r'<div class="noted"><p>.*?</p><aside>(.*?)</aside></div>', article())
    assert len(notes) == len(written)
    assert not any(note.startswith(("&gt;", ">")) for note in notes)


def test_words_in_the_values_of_a_figure_are_no_markup(monkeypatch):
    hostile = {"bars": OwnFigure("computed here", lambda *place: {"words": [[HOSTILE + '"']]})}
    monkeypatch.setattr(package, "FIGURES", hostile)
    place = {"trace": "01-chain", "round": 1, "step": "draw"}
    markup = package._own_figure("bars", place, [HOSTILE])
    assert "<script>" not in markup
    (((_, given)),) = OWN.findall(markup)
    assert json.loads(unescape(given)) == {"words": [[HOSTILE + '"']]}


def test_links_to_the_app_lead_out_of_the_article():
    link = '<a href="../../?tab=models&amp;part=heads">EAGLE, Medusa and MTP side by side</a>'
    assert link in article()
