"""EAGLE's and EAGLE-2's heads as SafeAILab has them: one layer without a norm before its attention.

`fc.*`, `layers.0.*` and, unless the target's serve, `embed_tokens.weight`; config.json as a Llama's
of one layer, with `bias` where fc has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.drafters.kit.layouts.layout import (
    Head,
    Layout,
    Names,
    any_is,
    with_attention_s_parts,
)


def _fits(config: Mapping[str, Any], names: Names) -> bool:
    one_layer = any_is(r"fc\.", names) and any_is(r"layers\.0\.", names)
    return one_layer and not any_is(r"layers\.0\.hidden_norm\.", names)


def _ours(head: Head) -> Head:
    return with_attention_s_parts(head, "layers.0")


LAYOUTS = (
    Layout("EAGLE (SafeAILab)", "eagle", "specviz.drafters.eagle.drafter:Eagle2", _fits, _ours),
)
