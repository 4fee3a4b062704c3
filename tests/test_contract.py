"""The contract of a drafter: eleven laws, tried on every family of the catalogue."""

from __future__ import annotations

import pytest
from families import CASES

from specviz.catalog.entry import entries
from specviz.drafters.contract import LAWS, check_law

SLOW = "tokens of real runs follow the target"


def cells():
    """Every law with every family; counting hundreds of runs is slow."""
    for law in LAWS:
        marks = [pytest.mark.slow] if law == SLOW else []
        for family in CASES:
            yield pytest.param(law, family, marks=marks, id=f"{law}: {family}")


@pytest.mark.parametrize(("law", "family"), list(cells()))
def test_every_family_keeps_every_law(law, family):
    check_law(law, CASES[family])


def test_every_drafter_of_the_catalogue_is_on_trial():
    assert set(CASES) == {entry.name for entry in entries() if entry.kind == "drafter"}
