"""The top of the Cost tab: one start for all sections, and every published α with its source."""

import pytest

from specviz.cost import formula
from specviz.cost.sources import acceptances
from specviz.ui.cost.law.section import START as LAW
from specviz.ui.cost.roofline.section import USUAL
from specviz.ui.cost.terms.section import START, config, preset


def test_all_sections_start_with_the_same_alpha_and_gamma():
    for name in ("alpha", "gamma"):
        assert LAW[name] == USUAL[name] == START[name] == config()["terms"][name]


def test_every_preset_states_drafter_target_and_source():
    for made, each in zip(config()["presets"], acceptances(), strict=True):
        assert made["alpha"] == pytest.approx(each.effective_alpha, abs=5e-4)
        assert made["said"] == f"published: {each.title} on {each.on}"
        assert made["source"] == [each.source.title, each.source.url]
        assert each.conditions in made["how"]
        assert ("the source itself states no α" in made["how"]) is each.derived
        assert made["title"].endswith(f"γ {each.gamma}") is (each.gamma is not None)


def test_derived_alpha_states_its_derivation():
    made = preset(next(each for each in acceptances() if each.name == "eagle3"))
    assert (
        "5.71 tokens per pass. With γ = 6, the speed-up formula turns that into α = 0.931"
        in made["how"]
    )
    assert formula.expected_tokens(made["alpha"], 6) == pytest.approx(5.71, abs=0.01)
    quoted = preset(next(each for each in acceptances() if each.name == "t5-small"))
    assert "quoted by others" in quoted["how"]
