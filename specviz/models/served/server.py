"""A vLLM server: its model, its version, and the log-probabilities that it returns.

Every feature that a run needs is tested first, so an unsuitable server is rejected before the run.

The server lists only the most probable tokens. Their log-probabilities are used unchanged; the
remaining probability is divided evenly among the other tokens, so that a softmax gives every listed
token its exact probability.
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

MAX_LISTED: Final = 65  # how many tokens to request per distribution, if the server lists that many
MIN_LISTED: Final = 9  # eight tokens are shown, and one more is needed
LIMIT: Final = re.compile(r"max allowed:? (\d+)")
TOLERANCE: Final = 0.25  # in nats, between two requests for one distribution in half precision
TOO_OLD: Final = "vLLM 0.32 does, older versions may not"
LogProbs = dict[int, float]  # token ids and their log-probabilities
ID_PREFIX: Final = "token_id:"  # prefix of token ids in a response
ROUNDING: Final = 0.02  # by how much a sum in half precision may exceed 1


@dataclass(frozen=True, slots=True)
class Server:
    """A server that can be a target.

    Attributes:
        model: The server's name for its model.
        root: The path or Hub id that the server loaded the model from.
        longest: Context length of the model, in tokens.
        listed: Number of tokens listed per distribution.
    """

    client: HttpClient
    model: str
    root: str
    longest: int
    version: str
    listed: int

    @classmethod
    def connect(cls, address: Address) -> Server:
        """Identify a server and test its responses.

        Raises ServerFault if the server cannot be a target; the message says why.
        """
        client = HttpClient(address)
        card = _model(client)
        name, root = str(card["id"]), str(card.get("root") or card["id"])
        longest = card.get("max_model_len")
        if type(longest) is not int or longest < 2:
            raise ServerFault(
                f"The server at {address} does not report its model's maximum length; {TOO_OLD}."
            )
        found = cls(client, name, root, longest, _version(client), MAX_LISTED)
        listed = found._limit()
        if listed < MIN_LISTED:
            raise ServerFault(
                f"The server at {address} gives at most {listed} log-probabilities per token, but "
                f"a run needs {MIN_LISTED}: start it with --max-logprobs {MIN_LISTED} or more."
            )
        return cls(client, name, root, longest, found.version, listed)._verified()

    def logprobs(
        self, texts: Sequence[Sequence[int]], firsts: Sequence[int]
    ) -> list[list[LogProbs]]:
        """Request the distributions at positions of several texts, in one HTTP request.

        If `firsts` is the length of every text, only the next tokens are requested; the server can
        then use its cache. Returns for each text, one distribution per token from that position on,
        and the distribution of the next token. firsts: for each text, the position of the first
        token whose distribution is needed. Raises ServerFault if the server fails or its response
        cannot be used.
        """
        inner = any(first < len(text) for text, first in zip(texts, firsts, strict=True))
        body = self._request_body(texts, self.listed, inner)
        answer = self.client.post_json("/v1/completions", body)
        try:
            found = _choices(answer, len(texts))
            return [
                [*(prompt_logprobs(choice, first) if inner else ()), next_logprobs(choice)]
                for choice, first in zip(found, firsts, strict=True)
            ]
        except UnusableResponse as fault:
            raise ServerFault(
                f"The server at {self.client.address} cannot be a target: {fault}; {TOO_OLD}."
            ) from fault

    def _request_body(
        self, texts: Sequence[Sequence[int]], listed: int, inner: bool
    ) -> dict[str, Any]:
        # It turns off everything that would change distributions.
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
        try:
            self.client.post_json("/v1/completions", self._request_body([[0, 0]], MAX_LISTED, True))
        except Refused as refusal:
            limit = LIMIT.search(refusal.message)
            if limit is None:
                raise
            return int(limit[1])
        return MAX_LISTED

    def _verified(self) -> Server:
        # One distribution is requested in two ways.
        ((inside, _), (after,)) = self.logprobs([[0, 0], [0]], [1, 1])
        shared = sorted(inside.keys() & after.keys(), key=lambda token: -after[token])[:3]
        if not shared or any(abs(inside[token] - after[token]) > TOLERANCE for token in shared):
            raise ServerFault(
                f"The server at {self.client.address} gives different probabilities for a token "
                "inside a text and after it. Start it with --logprobs-mode raw_logprobs."
            )
        return self


def _model(client: HttpClient) -> dict[str, Any]:
    # Not an adapter of another model.
    answer = client.get_json("/v1/models")
    rows = answer.get("data") if isinstance(answer, dict) else None
    named = [row for row in rows or () if isinstance(row, dict) and row.get("id")]
    found = next((row for row in named if not row.get("parent")), None)
    if found is None:
        raise ServerFault(f"The server at {client.address} lists no model.")
    return found


def _version(client: HttpClient) -> str:
    try:
        answer = client.get_json("/version")
    except Refused as refusal:
        raise ServerFault(
            f"The server at {client.address} does not report a version, so it is not vLLM."
        ) from refusal
    version = answer.get("version") if isinstance(answer, dict) else None
    if not isinstance(version, str):
        raise ServerFault(f"The server at {client.address} is not vLLM.")
    return version[:40]


def _choices(answer: Any, count: int) -> list[dict[str, Any]]:
    rows = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UnusableResponse("its response has no choices")
    found = sorted(rows, key=lambda row: int(row.get("index", 0)))
    if len(found) != count:
        raise UnusableResponse(f"it answers {len(found)} of {count} texts")
    return found


class UnusableResponse(ServerFault):
    """Raised if a response lacks a requested field."""


def prompt_logprobs(choice: Mapping[str, Any], first: int) -> list[LogProbs]:
    """Return the distributions of `prompt_logprobs` from `first` on.

    Raises UnusableResponse if they are missing or invalid.
    """
    rows = choice.get("prompt_logprobs")
    if not isinstance(rows, list) or first < 1:
        raise UnusableResponse("it gives no log-probabilities of a text (prompt_logprobs)")
    return [_row(row) for row in rows[first:]]


def next_logprobs(choice: Mapping[str, Any]) -> LogProbs:
    """Return the distribution of the one generated token.

    Raises UnusableResponse if it is missing or invalid.
    """
    logprobs = choice.get("logprobs")
    rows = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
    row = rows[0] if isinstance(rows, list) and rows else None
    if not isinstance(row, dict) or not all(str(key).startswith(ID_PREFIX) for key in row):
        raise UnusableResponse("it does not name tokens by their ids (return_tokens_as_token_ids)")
    return _checked({key.removeprefix(ID_PREFIX): value for key, value in row.items()})


def _row(row: Any) -> LogProbs:
    if not isinstance(row, dict):
        raise UnusableResponse("it gives no log-probabilities at one position of a text")
    return _checked({k: v.get("logprob") for k, v in row.items() if isinstance(v, dict)})


def _checked(values: Mapping[str, Any]) -> LogProbs:
    try:
        found = {int(key): float(value) for key, value in values.items()}
    except (TypeError, ValueError) as error:
        raise UnusableResponse("its token ids or log-probabilities are not numbers") from error
    if not found or not all(map(isfinite, found.values())) or min(found) < 0:
        raise UnusableResponse("its log-probabilities are not finite numbers")
    if max(found.values()) > ROUNDING or sum(map(exp, found.values())) > 1 + ROUNDING:
        raise UnusableResponse("its values are not log-probabilities (--logprobs-mode)")
    return found


def to_logits(rows: Sequence[LogProbs], vocabulary: int) -> Tensor:
    """Return rows of logits, (n, V) in float64.

    Raises UnusableResponse if a token is not in the vocabulary.
    """
    return torch.stack([_logits(logprobs, vocabulary) for logprobs in rows])


def _logits(logprobs: LogProbs, vocabulary: int) -> Tensor:
    if max(logprobs) >= vocabulary:
        raise UnusableResponse(
            f"it has a token {max(logprobs)}, and its tokenizer {vocabulary:,} tokens"
        )
    rest, others = 1.0 - sum(map(exp, logprobs.values())), vocabulary - len(logprobs)
    row = torch.full((vocabulary,), -torch.inf, dtype=torch.float64)
    if rest > 0 and others:
        row.fill_(torch.tensor(rest / others, dtype=torch.float64).log().item())
    row[list(logprobs)] = torch.tensor(list(logprobs.values()), dtype=torch.float64)
    return row
