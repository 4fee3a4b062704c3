"""Example statistics of a server, built from a real measurement.

The numbers are vLLM's own, from the comparison in assets/models/peers.json: accepted tokens by
position over thirty prompts, one sequence at a time, on a CPU. That run read vLLM's counters and
kept no text of /metrics, so the lines around the numbers are written here in its format.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from specviz.shipped import ASSETS, read_shipped_json

PEERS: Final = ASSETS / "models" / "peers.json"
DRAFTER: Final = "eagle3"
DESCRIPTION: Final = (
    "Example: draft tokens of the House EAGLE-3 head that vLLM {version} accepted on {date}, over "
    "thirty prompts, one at a time. The counts are real; the lines around them were written in the "
    "format of /metrics."
)


@dataclass(frozen=True, slots=True)
class Example:
    """Statistics in /metrics' format (`text`), and where the numbers come from (`said`)."""

    text: str
    said: str


def example() -> Example:
    """Return the example. Every draft had γ tokens, since vLLM always drafts γ.

    Raises BrokenFile.
    """
    return read_shipped_json(PEERS, _build)


def _build(peers: Any) -> Example:
    row = next(row for row in peers["rows"] if row["drafter"] == DRAFTER)
    rounds, counts = row["rounds"]["vllm"], row["by_position"]["vllm"]
    gamma = row["theirs"]["num_speculative_tokens"]
    labels = 'engine="0",model_name="house"'
    totals = {
        "num_drafts": rounds, "num_draft_tokens": rounds * gamma, "num_accepted_tokens": sum(counts)
    }  # fmt: skip
    lines = [f"vllm:num_requests_running{{{labels}}} 1.0"]
    lines += [f"vllm:spec_decode_{name}_total{{{labels}}} {n:.1f}" for name, n in totals.items()]
    lines += [
        f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels},position="{at}"}} {n:.1f}'
        for at, n in enumerate(counts)
    ]
    description = DESCRIPTION.format(version=peers["version"], date=row["date"])
    return Example("\n".join(lines) + "\n", description)
