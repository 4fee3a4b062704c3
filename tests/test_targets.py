"""The page's fields for a target: the choices, the texts about them, and the request."""

import re

import pytest

from specviz.catalog import entry
from specviz.settings.settings import Settings
from specviz.ui.step import choices, drawer, form, player


@pytest.fixture(params=[True, False], ids=["here", "not here"])
def here(request, tmp_path, monkeypatch):
    monkeypatch.setattr(entry, "find_local", lambda _: tmp_path if request.param else None)
    return request.param


def test_target_can_be_chosen_only_if_it_is_on_this_machine(here):
    known = ["house", "smollm2"] if here else ["house"]
    assert [each.name for each in drawer.targets()] == known
    assert player.config()["targets"] == known
    assert '{"house": "House"' in form.sentence()
    assert ('"smollm2": "SmolLM2"' in form.sentence()) is here
    box = drawer.target_box("house", False, "sv-target")
    assert [name for _, name in box.choices] == sorted(known, reverse=True), "SmolLM2 first"
    assert not box.allow_custom_value
    about = f"If you choose SmolLM2: {entry.size_text(entry.find('smollm2', 'target'))}."
    assert [*drawer.about_targets()] == ([about] if here else [])


def test_drafters_made_for_other_targets_are_not_listed(here):
    found = re.findall(
        r'is\(\[data-target="(\w+)"\], .* \.sv-drafters \.options li\[data-index="(\d+)"\]',
        drawer.fitting(),
    )
    assert found == [
        (target, str(at))
        for target in (["house", "smollm2"] if here else ["house"])
        for at, each in enumerate(drawer.drafters())
        if each.made_for not in (None, target)
    ]
    assert {target for target, _ in found} == ({"house", "smollm2"} if here else {"house"})
    assert entry.find(drawer.FITS_ANY, "drafter").made_for is None


def test_form_sends_the_chosen_target():
    usual = Settings().to_json()
    usual |= usual["sampling"]
    filled = {row.name: row.form_value(usual[row.name]) for row in choices.rows()}
    values = {"prompt": "Once", "target": "smollm2", "method": "ngram", **filled}
    wish = choices.Choices.from_form(values).request().allowed(any_model=False)
    assert (wish.target, wish.drafter) == ("smollm2", "ngram")
    assert choices.names()[:3] == ["prompt", "target", "method"]
    assert choices.config()[1] == {"name": "target", "kind": "text"}
