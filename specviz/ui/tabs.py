"""The tabs between Step and Models, with the sections of each, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Final

from specviz.ui.compare import blocks, domains
from specviz.ui.compare.race import section as race
from specviz.ui.cost import advanced, pair, published, roofline, server, speedup, trees
from specviz.ui.lossless import coins, gallery, proof, rounding, sandbox
from specviz.ui.trees import grow, judging, ranking

# Each module has a function `build`, which takes the TabContext.
TABS: Final[Mapping[str, Sequence[ModuleType]]] = {
    "Compare": (race, blocks, domains),
    "Lossless?": (sandbox, coins, gallery, rounding, proof),
    "Trees": (grow, ranking, judging),
    "Cost": (pair, server, roofline, speedup, trees, published, advanced),
}
