"""The tabs between Step and Models: which sections each one has, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Final

from specviz.ui.compare.domains import section as domains
from specviz.ui.compare.race import section as race
from specviz.ui.cost.adaptive import section as adaptive
from specviz.ui.cost.law import section as law
from specviz.ui.cost.published import section as published
from specviz.ui.cost.roofline import section as roofline
from specviz.ui.cost.server import section as server
from specviz.ui.cost.shapes import section as shapes
from specviz.ui.cost.sweep import section as sweep
from specviz.ui.cost.terms import section as terms
from specviz.ui.lossless.coins import section as coins
from specviz.ui.lossless.gallery import section as gallery
from specviz.ui.lossless.proof import section as proof
from specviz.ui.lossless.sandbox import section as sandbox
from specviz.ui.trees.grow import section as grow
from specviz.ui.trees.judging import section as judging
from specviz.ui.trees.ranking import section as ranking

# Each module has a function `build`, which takes the TabContext.
TABS: Final[Mapping[str, Sequence[ModuleType]]] = {
    "Compare": (race, domains),
    "Lossless?": (sandbox, coins, gallery, proof),
    "Trees": (grow, ranking, judging),
    "Cost": (terms, law, roofline, adaptive, server, sweep, shapes, published),
}
