"""Who a server is, asked once before a run: its model, its version, how much it says of a law.

Rule: what a run will need is tried here, so that a server that cannot serve is refused beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite
from typing import Any, Final

import torch
from torch import Tensor

from specviz.models.errors import ServerFault
from specviz.models.served.http_client import Address, HttpClient, Refused

MOST_LISTED: Final = 65  # tokens of a law that are asked for, where the server gives so many
FEWEST: Final = 9  # the eight that are shown of a law, and one that says what comes after
LIMIT: Final = re.compile(r"max allowed:? (\d+)")
APART: Final = 0.25  # nats: by which two ways of asking for one law may differ in half precision
TOO_OLD: Final = "vLLM 0.32 can, older ones may not"
LogProbs = dict[int, float]  # token ids and their log-probabilities
NAMED: Final = "token_id:"  # how a token is written where it was asked for by number
ROUNDING: Final = 0.02  # by how much a law in half precision may miss 1


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers. model: what it calls it. root: where it has it from.

    longest: tokens that it sees. listed: of a law. version: vLLM's own.
    """

    line: HttpClient
    model: str
    root: str
    longest: int
    version: str
    listed: int

    @classmethod
    def at(cls, address: Address) -> Server:
        """Ask a server who it is, and try one question. Raises ServerFault with a sentence."""
        line = HttpClient(address)
        card = _model(line)
        name, root = str(card["id"]), str(card.get("root") or card["id"])
        longest = card.get("max_model_len")
        if type(longest) is not int or longest < 2:
            raise ServerFault(
                f"The server at {address} does not say how long a text its model sees; {TOO_OLD}."
            )
        found = cls(line, name, root, longest, _version(line), MOST_LISTED)
        listed = found._limit()
        if listed < FEWEST:
            raise ServerFault(
                f"The server at {address} gives {listed} log-probabilities of a token at most; "
                f"{FEWEST} are the fewest that a run can be shown with: start it with "
                f"--max-logprobs {FEWEST} or more."
            )
        return cls(line, name, root, longest, found.version, listed)._tried()

    def laws(self, texts: Sequence[Sequence[int]], firsts: Sequence[int]) -> list[list[LogProbs]]:
        """By text, the laws of its tokens from its place in `firsts` on, then of the next token.

        One request. A text whose `firsts` is its length is asked for the next token alone, so that
        the server can use what it remembers of the text. Raises ServerFault.
        """
        inner = any(first < len(text) for text, first in zip(texts, firsts, strict=True))
        question = self._question(texts, self.listed, inner)
        answer = self.line.ask("/v1/completions", question)
        try:
            found = _choices(answer, len(texts))
            return [
                [*(prompt_logprobs(choice, first) if inner else ()), next_logprobs(choice)]
                for choice, first in zip(found, firsts, strict=True)
            ]
        except UnusableResponse as fault:
            raise ServerFault(
                f"The server at {self.line.address} cannot be a target: {fault}; {TOO_OLD}."
            ) from fault

    def _question(self, texts: Sequence[Sequence[int]], listed: int, inner: bool) -> dict[str, Any]:
        """Everything that would bend a law is said to be off: servers have other defaults."""
        neutral = {"temperature": 0, "top_p": 1, "top_k": -1, "min_p": 0, "repetition_penalty": 1}
        return {
            "model": self.model,
            "prompt": [list(text) for text in texts],
            "max_tokens": 1,
            **neutral,
            "presence_penalty": 0,
            "frequency_penalty": 0,
            "ignore_eos": True,
            "add_special_tokens": False,
            "logprobs": listed,
            "return_tokens_as_token_ids": True,
            **({"prompt_logprobs": listed} if inner else {}),
        }

    def _limit(self) -> int:
        """How many log-probabilities it gives, MOST_LISTED at most."""
        try:
            self.line.ask("/v1/completions", self._question([[0, 0]], MOST_LISTED, True))
        except Refused as refusal:
            told = LIMIT.search(refusal.said)
            if told is None:
                raise
            return int(told[1])
        return MOST_LISTED

    def _tried(self) -> Server:
        """This server, once it said one law in two ways. Raises ServerFault."""
        ((inside, _), (after,)) = self.laws([[0, 0], [0]], [1, 1])
        shared = sorted(inside.keys() & after.keys(), key=lambda token: -after[token])[:3]
        if not shared or any(abs(inside[token] - after[token]) > APART for token in shared):
            raise ServerFault(
                f"The server at {self.line.address} gives other numbers for a text than for what "
                "follows it, so they are no laws: start it with --logprobs-mode raw_logprobs."
            )
        return self


def _model(line: HttpClient) -> dict[str, Any]:
    """The first model that is no adapter of another. Raises ServerFault."""
    answer = line.look("/v1/models")
    rows = answer.get("data") if isinstance(answer, dict) else None
    named = [row for row in rows or () if isinstance(row, dict) and row.get("id")]
    found = next((row for row in named if not row.get("parent")), None)
    if found is None:
        raise ServerFault(f"The server at {line.address} lists no model.")
    return found


def _version(line: HttpClient) -> str:
    """vLLM's version. Raises ServerFault where it is another program."""
    try:
        answer = line.look("/version")
    except Refused as refusal:
        raise ServerFault(
            f"The server at {line.address} does not say its version, so it is no vLLM."
        ) from refusal
    said = answer.get("version") if isinstance(answer, dict) else None
    if not isinstance(said, str):
        raise ServerFault(f"The server at {line.address} is no vLLM.")
    return said[:40]


def _choices(answer: Any, many: int) -> list[dict[str, Any]]:
    """The answer's choices in the order asked. Raises Unusable."""
    rows = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnusableResponse("it answers no choices")
    found = sorted(rows, key=lambda row: int(row.get("index", 0)))
    if len(found) != many:
        raise UnusableResponse(f"it answers {len(found)} texts of {many}")
    return found


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
