"""Statistics of a server on the Cost tab: checked requests, and results equal to the formulas."""

import json
import re

import pytest
from asking import ask
from test_figures import check_plotly
from test_server_texts import INFO, READ, vllm

from specviz.cost.server.loading import JSON_NAMES, MAX_CHARACTERS, parse_stats
from specviz.cost.server.outlook import Deployment
from specviz.cost.server.report import build_report
from specviz.ui.cost.server import START, config
from specviz.ui.cost.server.answer import LONGEST_QUESTION, answer

EXAMPLE = config()["example"]


def said(**changes):
    """Return the answer to the example with the machine that is selected initially."""
    asked = {"now": EXAMPLE["text"], "before": "", "named": "", **START, **changes}
    return ask(answer, asked, LONGEST_QUESTION)


def test_numbers_on_the_page_equal_the_formulas():
    made = said(batch=256)
    site = Deployment("h100-sxm", "llama-3.1-8b", "bf16", "head", batch=256)
    found = build_report(EXAMPLE["text"], site=site)
    assert made["said"] == ["So far, a pass of your server yielded ", "3.41", " tokens on average."]
    assert made["advice"] == list(found.advice)
    assert dict(made["facts"])["Drafts"] == "527"
    assert made["places"][1] == ["2", "65.1%, 60.9 to 69.0", "80.9%, 76.9 to 84.4"]
    outlook, choices = made["figures"]["outlook"]["data"], found.outlook.options
    assert outlook["20-counted"]["y"] == pytest.approx([c.speedup for c in choices[:5]])
    assert outlook["10-beyond"]["x"] == list(range(4, 17))
    assert (outlook["40-best"]["x"], outlook["30-now"]["x"]) == ([1], [4.0])
    assert found.outlook.best.gamma == 1
    shares = made["figures"]["places"]["data"]["10-reached"]
    assert shares["y"] == pytest.approx([kept / 527 for kept in (424, 343, 277, 228)])
    high = shares["y"][0] + shares["error_y"]["array"][0]
    assert high == pytest.approx(found.positions[0].cumulative.high)
    assert (made["batch"], made["gamma"]) == (1, 4)


def test_alpha_for_the_other_sections_gives_the_same_tokens_per_pass():
    takes = said()["takes"]
    alpha = takes["alpha"]
    assert sum(alpha**i for i in range(5)) == pytest.approx(3.4137, abs=0.005)
    assert (takes["gamma"], takes["said"]) == (4, "reported by vLLM on house")


def test_server_that_reports_only_a_mean_has_no_figure_by_position():
    made = said(now=json.dumps(INFO))
    assert made["figures"]["places"] is None
    assert made["places"] == []
    assert made["figures"]["outlook"]
    assert "no acceptance by position" in " ".join(made["unsaid"])
    tree = said(now=json.dumps(INFO | {"speculative_eagle_topk": 4}))
    assert "drafts trees" in tree["open"]
    assert tree["figures"]["outlook"] is tree["takes"] is None


@pytest.mark.slow
def test_figures_are_valid_plotly_with_escaped_text():
    for figure in said()["figures"].values():
        check_plotly(figure)
        words = [word for part in figure["data"].values() for word in part.get("hovertext", [])]
        assert words
        assert not re.search("[<>&]", "".join(words))


def test_page_offers_a_choice_if_the_server_has_several_models():
    assert said(now=" \n") == {"empty": True}
    text = vllm() + "\n" + vllm(model="n")
    assert said(now=text)["models"] == ["m", "n"]
    assert dict(said(now=text, named="n")["facts"])["Model"] == "n"


FAULTS = {
    "a text": ({"now": "hello"}, "now", "This is other text, which begins with “hello”"),
    "a text that is none": ({"now": 3}, "now", "must be text"),
    "a text too long": ({"now": "a" * (MAX_CHARACTERS + 1)}, "now", "longer than 400,000"),
    "an earlier one too long": ({"before": "a" * (MAX_CHARACTERS + 1)}, "before", "longer than"),
    "the same twice": ({"before": EXAMPLE["text"]}, "now", "Nothing was drafted between"),
    "no cards": ({"cards": None}, "cards", "must be an integer"),
    "half a card": ({"cards": 1.5}, "cards", "must be an integer"),
    "a word as a batch": ({"batch": "many"}, "batch", "must be an integer"),
    "a huge batch": ({"batch": 1e300}, "batch", "must be an integer"),
    "another machine": ({"hardware": "<b>"}, "", "'<b>' is not a known hardware"),
    "no drafter": ({"drafter": []}, "drafter", "must be text"),
}


@pytest.mark.parametrize("case", FAULTS.values(), ids=FAULTS)
def test_each_error_returns_one_sentence_with_its_field(case):
    changes, field, sentence = case
    made = said(**changes)
    assert made["field"] == field
    assert sentence in made["problem"]


def test_malformed_request_returns_readable_error():
    for text in ("null", "", "[", "[1]", "x" * (LONGEST_QUESTION + 1)):
        assert ask(answer, text, LONGEST_QUESTION)["problem"].endswith("."), text[:9]


def sent(data):
    """Return the JSON that a browser sends: JSON.stringify with a list of keys omits all others."""
    if isinstance(data, dict):
        return {name: sent(value) for name, value in data.items() if name in JSON_NAMES}
    return [sent(each) for each in data] if isinstance(data, list) else data


def test_json_keys_that_the_browser_removes_are_never_needed():
    texts = [case[0] for case in READ.values() if case[0][0] in "{["]
    assert len(texts) == 5
    for text in texts:
        less = json.dumps(sent(json.loads(text)))
        assert "secret" not in less
        assert parse_stats(less) == parse_stats(text)
