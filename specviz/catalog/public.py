"""Checkpoints that others publish, as data: what is known of each, from where, and what is not.

Rule: a row says what was looked up, and None where nobody looked; nothing is guessed from a name.
No weights of any row were ever loaded here: what was verified is that a tiny checkpoint in the same
layout loads, and a test holds that. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

from specviz.catalog.entry import Kind
from specviz.models.files import find_fetched, head_files, size_in_float32, size_of
from specviz.shipped import ASSETS, of_shipped

CAUSAL_LM: Final = "causal LM"  # the layout of targets: transformers' own
UNKNOWN: Final = "not checked"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCheckpoint:
    """One public checkpoint. None, of any field: nobody looked.

    name: its id on the Hub. family: a target's kind of network in transformers, a drafter's method.
    layout: a title of `drafters.kit.layouts`, or CAUSAL_LM. runs: whether this app can run it; the
    reason why not is in about. made_for: a drafter's target. revision: what is fetched.
    parameters: how many. bytes: of its weight files. dtype: of its tensors. gated: whether the Hub
    asks for consent first. chat_template: whether its tokenizer has one; None for drafters, which
    speak as their targets. verified: "layout": a test loads a tiny checkpoint in this layout;
    "weights": these very weights were loaded. sources: where that is said, as addresses.
    """

    name: str
    kind: Kind
    family: str
    layout: str | None
    runs: bool | None
    made_for: str | None
    revision: str
    parameters: int | None
    bytes: int | None
    dtype: str | None
    licence: str | None
    gated: bool | None
    chat_template: bool | None
    verified: Mapping[str, bool]
    about: str
    sources: list[str]

    @property
    def pinned(self) -> str:
        """Its id as a fetch is asked for it: with its revision, unless that is the usual branch."""
        return self.name if self.revision == "main" else f"{self.name}@{self.revision}"

    @property
    def memory(self) -> int | None:
        """Bytes of the weights in float32."""
        return None if self.parameters is None else 4 * self.parameters


@cache
def public_checkpoints() -> tuple[PublicCheckpoint, ...]:
    """All rows: targets first. Raises BrokenFile."""
    return of_shipped(
        ASSETS / "public.json", lambda rows: tuple(PublicCheckpoint(**row) for row in rows)
    )


def public_rows() -> list[dict[str, Any]]:
    """The rows as plain data, with on_this_machine, and memory_bytes in float32.

    bytes, memory_bytes: of the files here, or as the row has them.
    """
    return [_row(each) for each in public_checkpoints()]


def _row(each: PublicCheckpoint) -> dict[str, Any]:
    place = find_fetched(each.pinned)
    found: dict[str, Any] = asdict(each) | {"memory_bytes": each.memory}
    size = each.bytes if place is None else size_of(head_files(place))
    if place is not None:
        found["memory_bytes"] = size_in_float32(head_files(place)) or each.memory
    return found | {"bytes": size, "on_this_machine": place is not None}
