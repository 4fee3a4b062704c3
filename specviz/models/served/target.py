"""A target whose passes a server makes: it scores a draft tree as its paths, in one request.

Its weights are elsewhere: there are no inner states for heads, and no cache but the server's own.
Its laws are whole at temperature 0, and with top-k as far as the server lists tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import torch
from transformers import AutoConfig, AutoTokenizer, GenerationConfig

from specviz.models.config_file import check_folder, read_config
from specviz.models.errors import NotAvailable, ServerFault, Unsuitable
from specviz.models.files import find_fetched
from specviz.models.passes import (
    CaptureSpec,
    ExtraRows,
    PrecomputedPrefix,
    Scores,
    States,
    UnsupportedModel,
)
from specviz.models.served.http_client import Address
from specviz.models.served.server import LogProbs, Server, to_logits
from specviz.models.target import Environment, Target, TargetRun, end_tokens
from specviz.settings.settings import BadSettings, Sampling
from specviz.trace.events import ModelCard
from specviz.verification.distributions import exact_dtype
from specviz.verification.tree import DraftTree

FAMILY = "served"


def served(name: str, called: str | None, device: torch.device, dtype: torch.dtype) -> ServedTarget:
    """The target at `vllm:URL`. called: what errors say instead, where visitors need not know it.

    device, dtype: of what computes here: laws, a draft model. Raises ServerFault, NotAvailable,
    Unsuitable, each with a sentence.
    """
    address = Address.read(name, called)
    server = Server.at(address)
    return ServedTarget(server, _folder(address, server), device, dtype)


def _folder(address: Address, server: Server) -> Path:
    """Where the tokenizer lies. Raises NotAvailable."""
    for said in filter(None, (address.folder, server.root)):
        place = Path(said).expanduser()
        found = place if place.is_dir() else _fetched(said)
        if found is not None:
            return found
        if said == address.folder:
            break
    raise NotAvailable(
        f"The tokenizer of {server.model!r} is not on this machine: say its folder behind the "
        f"address, as vllm:{address}#FOLDER."
    )


def _fetched(name: str) -> Path | None:
    try:
        found = find_fetched(name)
    except NotAvailable:
        return None
    return found if found is None or found.is_dir() else None


class ServedTarget(Target):
    """A server's model, and its tokenizer, which is here."""

    def __init__(
        self, server: Server, folder: Path, device: torch.device, dtype: torch.dtype
    ) -> None:
        """folder: of the tokenizer, the config and the ends of text. Raises Unsuitable."""
        self.server = server
        self.device = device
        self.dtype = dtype
        self.tokenizer, config, known = words(folder)
        self.vocab_size: int = config.vocab_size
        self.layers: int = getattr(config, "num_hidden_layers", 1)
        self.max_length: int = server.longest
        self.eos = end_tokens(self.tokenizer, known)
        self.card = ModelCard(Path(server.model).name, FAMILY, 0, 0, None)
        self._check_words()

    def __getattr__(self, name: str) -> NoReturn:
        if name == "model":
            raise UnsupportedModel(
                f"The weights of {self.card.name!r} are on a server, so only a single run can use "
                "it, with n-grams, a suffix tree or a small model as drafter."
            )
        raise AttributeError(name)

    @property
    def environment(self) -> Environment:
        """See `Target`. A server does not say its precision."""
        version = self.server.version
        return Environment(f"vLLM {version}", "precision not told", None, {"vllm": version})

    def start(self, capture: CaptureSpec, sampling: Sampling | None = None) -> ServedRun:
        """See `Target`. Raises Unsupported for taps, BadSettings where a law would not be whole."""
        if capture != CaptureSpec():
            raise UnsupportedModel(
                "This drafter reads inner states of the target, which a server keeps to itself; "
                "n-grams, a suffix tree or a small model can draft for it."
            )
        sampling = sampling or Sampling(temperature=0)
        most = self.server.listed - 1
        if not sampling.greedy and not 0 < sampling.top_k <= most:
            raise BadSettings(
                f"This server lists {most + 1} tokens of a law, so a run is exact at temperature 0 "
                f"or with top-k from 1 to {most}; a larger --max-logprobs lists more, 65 at most."
            )
        return ServedRun(self, capture, sampling)

    def _check_words(self) -> None:
        """Raise Unsuitable where the server reads a text as other tokens than we do."""
        text = "Speculation: 3 + 14 = 17, naïve!"
        question = {"model": self.server.model, "prompt": text, "add_special_tokens": False}
        answer = self.server.line.ask("/tokenize", question)
        theirs = answer.get("tokens") if isinstance(answer, dict) else None
        if theirs != self.tokenizer.encode(text, add_special_tokens=False):
            raise Unsuitable(
                f"The tokenizer on this machine is not that of {self.card.name!r} on the server: "
                "they read a text as other tokens."
            )


@cache
def words(folder: Path) -> tuple[Any, Any, list[int]]:
    """A folder's tokenizer, its text config and its ends of text. Raises Unsuitable."""
    check_folder(folder.name, folder)
    read_config(folder.name, folder)
    try:
        ours = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = AutoTokenizer.from_pretrained(folder, **ours)
        config = AutoConfig.from_pretrained(folder, **ours).get_text_config(decoder=True)
        named = (folder / "generation_config.json").is_file()
        ends = GenerationConfig.from_pretrained(folder).eos_token_id if named else None
    except Exception as error:  # a damaged file can raise anything
        reason = str(error).strip().split("\n")[0]
        raise Unsuitable(f"{folder.name!r} has no tokenizer that can be read: {reason}") from error
    known = ends if isinstance(ends, list) else [ends, config.eos_token_id]
    return tokenizer, config, [end for end in known if type(end) is int]


class ServedRun(TargetRun):
    """One run's text, which is sent with every pass. It holds all but the newest token."""

    target: ServedTarget

    def __init__(self, target: ServedTarget, capture: CaptureSpec, sampling: Sampling) -> None:
        super().__init__(target, capture)
        self.sampling = sampling
        self.text: list[int] = []
        self.tree: DraftTree | None = None

    def prefill(self, ids: Sequence[int]) -> Scores:
        """Read the prompt. logits: (1, V), after its last token."""
        ((law,),) = self.target.server.laws([ids], [len(ids)])
        self.text = list(ids)
        self.length = len(ids)
        return self._scores([law])

    def score(
        self,
        tree: DraftTree,
        extra_rows: ExtraRows | None = None,
        precomputed: PrecomputedPrefix | None = None,
    ) -> Scores:
        """One request with all paths of the tree; a node on several paths has the first's law."""
        if extra_rows is not None or precomputed is not None:
            raise UnsupportedModel(
                "This drafter adds rows of its own to the target's pass, which a server does not "
                "take; n-grams, a suffix tree or a small model can draft for it."
            )
        leaves = [node for node, children in enumerate(tree.children) if not children]
        paths = [tree.path(leaf) for leaf in leaves]
        texts = [[*self.text, *(tree.tokens[node] for node in path)] for path in paths]
        asked = self.target.server.laws(texts, [self.length + 1] * len(texts))
        found: dict[int, LogProbs] = {}
        for path, laws in zip(paths, asked, strict=True):
            if len(laws) != len(path):
                raise ServerFault("The server left places of the text out.")
            for node, law in zip(path, laws, strict=True):
                found[node] = law | found.get(node, {})
        self.tree = tree
        return self._scores([found[node] for node in range(len(tree))])

    def keep(self, path: Sequence[int]) -> None:
        """Go on from these nodes of the tree that was scored last."""
        assert self.tree is not None
        self.text += [self.tree.tokens[node] for node in path]
        self.length += len(path)

    def _scores(self, laws: Sequence[LogProbs]) -> Scores:
        for law in laws:
            self._check_whole(law)
        rows = to_logits(laws, self.target.vocab_size)
        return Scores(rows.to(self.target.device, exact_dtype(self.target.device)), States())

    def _check_whole(self, law: LogProbs) -> None:
        """Raise ServerFault where a token that was not listed may be as likely as the k-th."""
        if self.sampling.greedy:
            return
        falling = sorted(law.values(), reverse=True)
        k = self.sampling.top_k
        if len(falling) <= k or falling[k - 1] <= falling[self.target.server.listed - 1]:
            raise ServerFault(
                "Several tokens are as likely as the last that top-k keeps, and the server does "
                "not list them all: choose a smaller top-k."
            )
