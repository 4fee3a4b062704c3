"""What a server says of the next token, as rows of logits.

Rule: a log-probability that was given is kept as it is. What the tokens that were not listed hold
is known as a sum alone; it is spread evenly over them, so that a softmax gives every listed token
its own probability and all others theirs together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, isfinite
from typing import Any, Final

import torch
from torch import Tensor

from specviz.models.errors import ServerFault

LogProbs = dict[int, float]  # token ids and their log-probabilities
NAMED: Final = "token_id:"  # how a token is written where it was asked for by number
ROUNDING: Final = 0.02  # by how much a law in half precision may miss 1


class UnusableResponse(ServerFault):
    """An answer that has not what was asked for."""


def prompt_logprobs(choice: Mapping[str, Any], first: int) -> list[LogProbs]:
    """The laws of a text's tokens from the place `first` on. Raises Unusable.

    choice: of an answer to a question with `prompt_logprobs`.
    """
    rows = choice.get("prompt_logprobs")
    if not isinstance(rows, list) or first < 1:
        raise UnusableResponse("it gives no log-probabilities of a text (prompt_logprobs)")
    return [_row(row) for row in rows[first:]]


def next_logprobs(choice: Mapping[str, Any]) -> LogProbs:
    """The law of the one token that was written. Raises Unusable.

    choice: of an answer to a question with `logprobs` and `return_tokens_as_token_ids`.
    """
    said = choice.get("logprobs")
    rows = said.get("top_logprobs") if isinstance(said, dict) else None
    row = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(row, dict) or not all(str(key).startswith(NAMED) for key in row):
        raise UnusableResponse("it does not name tokens by their ids (return_tokens_as_token_ids)")
    return _checked({key.removeprefix(NAMED): value for key, value in row.items()})


def _row(row: Any) -> LogProbs:
    if not isinstance(row, dict):
        raise UnusableResponse("it gives no log-probabilities at one place of a text")
    told = {key: value.get("logprob") for key, value in row.items() if isinstance(value, dict)}
    return _checked(told)


def _checked(told: Mapping[str, Any]) -> LogProbs:
    """Raises Unusable where these are no log-probabilities of token ids."""
    try:
        found = {int(key): float(value) for key, value in told.items()}
    except (TypeError, ValueError) as error:
        raise UnusableResponse("it names no token ids, or no numbers") from error
    if not found or not all(map(isfinite, found.values())) or min(found) < 0:
        raise UnusableResponse("its log-probabilities are no numbers")
    if max(found.values()) > ROUNDING or sum(map(exp, found.values())) > 1 + ROUNDING:
        raise UnusableResponse("what it calls log-probabilities are none (--logprobs-mode)")
    return found


def to_logits(laws: Sequence[LogProbs], vocabulary: int) -> Tensor:
    """Rows of logits (n, V) in float64. Raises Unusable for a token beyond the vocabulary."""
    return torch.stack([_logits(law, vocabulary) for law in laws])


def _logits(law: LogProbs, vocabulary: int) -> Tensor:
    if max(law) >= vocabulary:
        raise UnusableResponse(
            f"it has a token {max(law)}, and its tokenizer {vocabulary:,} tokens"
        )
    rest, others = 1.0 - sum(map(exp, law.values())), vocabulary - len(law)
    row = torch.full((vocabulary,), -torch.inf, dtype=torch.float64)
    if rest > 0 and others:
        row.fill_(torch.tensor(rest / others, dtype=torch.float64).log().item())
    row[list(law)] = torch.tensor(list(law.values()), dtype=torch.float64)
    return row
