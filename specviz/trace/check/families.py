"""What the drafters of this program do with the settings, by the family that a header names.

A family that is not here, somebody's own, is held to what the engine itself guarantees.
"""

from __future__ import annotations

from typing import Final

# Grow a tree of the siblings that the settings give every depth, from a model's q.
GROWING: Final = frozenset({"draft-model", "oracle", "layerskip", "eagle", "mtp"})
UNIFORM: Final = "uniform"  # the same from q = 1/V
SAMPLING: Final = GROWING | {UNIFORM}  # sample their guesses unless told to take the top tokens
RANKED: Final = frozenset({"medusa", "mtp-parallel", "lmtp"})  # the siblings or the rank paths
DYNAMIC: Final = frozenset({"eagle2", "eagle3", "moa"})  # the budget and the fan-out
SUFFIX: Final = "suffix"
NGRAM: Final = "ngram"
LOOKAHEAD: Final = "lookahead"  # adds rows of its own to the target's pass
CHAINS: Final = frozenset({NGRAM, "mtp", "blockwise", "dflash"})  # one guess under each
WITHOUT_NETWORK: Final = frozenset({NGRAM, SUFFIX, LOOKAHEAD, UNIFORM})  # have no network
WITH_NETWORK: Final = GROWING | RANKED | DYNAMIC | {"blockwise", "dflash"}
BUILT_IN: Final = WITHOUT_NETWORK | WITH_NETWORK
