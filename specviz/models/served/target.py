"""A target whose passes run on a server: all paths of a draft tree are scored in one request.

The weights are on the server, so heads, which need hidden states, cannot be used, and the only
cache is the server's. Runs are exact at temperature 0, and with top-k below the number of tokens
that the server lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import torch
from transformers import AutoConfig, AutoTokenizer, GenerationConfig

from specviz.models.bounded_encoding import check_loading
from specviz.models.errors import NotAvailable, ServerFault, Unsuitable
from specviz.models.file_checks import check_folder, read_config
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
from specviz.models.tokenizer import is_fast, prompt_encoder
from specviz.settings.settings import BadSettings, Sampling
from specviz.trace.events import ModelCard
from specviz.verification.distributions import exact_dtype
from specviz.verification.tree import DraftTree

FAMILY = "served"


def served_target(
    name: str, alias: str | None, device: torch.device, dtype: torch.dtype
) -> ServedTarget:
    """Return the target at `vllm:URL`.

    Raises ServerFault if the server cannot be a target; NotAvailable if its tokenizer is not on
    this machine; Unsuitable if its tokenizer cannot be used.

    Args:
        name: The address.
        alias: Shown in errors instead of an address that users must not see.
        device: The local device, which computes distributions and a draft model.
        dtype: The precision of local computations.
    """
    address = Address.read(name, alias)
    server = Server.connect(address)
    return ServedTarget(server, _tokenizer_folder(address, server), device, dtype)


def _tokenizer_folder(address: Address, server: Server) -> Path:
    for name in filter(None, (address.folder, server.root)):
        path = Path(name).expanduser()
        found = path if path.is_dir() else _fetched(name)
        if found is not None:
            return found
        if name == address.folder:
            break
    raise NotAvailable(
        f"The tokenizer of {server.model!r} is not on this machine. Add its folder to the address: "
        f"vllm:{address}#FOLDER."
    )


def _fetched(name: str) -> Path | None:
    try:
        found = find_fetched(name)
    except NotAvailable:
        return None
    return found if found is None or found.is_dir() else None


class ServedTarget(Target):
    """A server's model with a local tokenizer."""

    def __init__(
        self, server: Server, folder: Path, device: torch.device, dtype: torch.dtype
    ) -> None:
        """Read the tokenizer, config and end-of-text tokens in `folder`.

        Raises Unsuitable if the server uses another tokenizer.
        """
        self.server = server
        self.device = device
        self.dtype = dtype
        self.tokenizer, config, known = read_tokenizer(folder)
        self.vocab_size: int = config.vocab_size
        self.layers: int = getattr(config, "num_hidden_layers", 1)
        self.max_length: int = server.longest
        self.eos = end_tokens(self.tokenizer, known)
        self.card = ModelCard(Path(server.model).name, FAMILY, 0, 0, None)
        self._check_tokenizer()

    def __getattr__(self, name: str) -> NoReturn:
        if name == "model":
            raise UnsupportedModel(
                f"The weights of {self.card.name!r} are on a server, so it can only be used in a "
                "single run, with n-grams, a suffix tree or a small model as drafter."
            )
        raise AttributeError(name)

    @property
    def identity(self) -> object:
        """Implement `Target.identity`; the weights are not on this machine."""
        return self

    @property
    def environment(self) -> Environment:
        """Implement `Target.environment`; a server does not report its precision."""
        version = self.server.version
        return Environment(f"vLLM {version}", "unknown precision", None, {"vllm": version})

    def start(self, capture: CaptureSpec, sampling: Sampling | None = None) -> ServedRun:
        """Implement `Target.start`."""
        # Raises UnsupportedModel if the drafter needs hidden states; BadSettings if the server
        # lists too few tokens for these sampling settings.
        if capture != CaptureSpec():
            raise UnsupportedModel(
                "This drafter reads hidden states of the target, which a server does not provide. "
                "Choose n-grams, a suffix tree or a small model as drafter."
            )
        sampling = sampling or Sampling(temperature=0)
        most = self.server.listed - 1
        if not sampling.greedy and not 0 < sampling.top_k <= most:
            raise BadSettings(
                f"This server lists {most + 1} tokens per distribution, so a run is exact at "
                f"temperature 0 or with top-k from 1 to {most}. Start the server with a larger "
                "--max-logprobs to list more, at most 65."
            )
        return ServedRun(self, capture, sampling)

    def _check_tokenizer(self) -> None:
        text = "Speculation: 3 + 14 = 17, naïve!"
        question = {"model": self.server.model, "prompt": text, "add_special_tokens": False}
        answer = self.server.client.post_json("/tokenize", question)
        theirs = answer.get("tokens") if isinstance(answer, dict) else None
        if is_fast(self.tokenizer):
            ours = [token.id for token in prompt_encoder(self.tokenizer).encode_marked(text)]
        else:
            ours = self.tokenizer.encode(text, add_special_tokens=False)
        if theirs != ours:
            raise Unsuitable(
                f"The tokenizer on this machine is not that of {self.card.name!r} on the server: "
                "they split a text into different tokens."
            )


@cache
def read_tokenizer(folder: Path) -> tuple[Any, Any, list[int]]:
    """Return a folder's tokenizer, text config and end-of-text tokens.

    Raises Unsuitable if the files cannot be read.
    """
    check_folder(folder.name, folder)
    read_config(folder.name, folder)
    check_loading(folder.name, folder)
    try:
        ours = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = AutoTokenizer.from_pretrained(folder, **ours)
        config = AutoConfig.from_pretrained(folder, **ours).get_text_config(decoder=True)
        named = (folder / "generation_config.json").is_file()
        ends = GenerationConfig.from_pretrained(folder).eos_token_id if named else None
    except Exception as error:  # a damaged file can raise any exception
        reason = str(error).strip().split("\n")[0]
        raise Unsuitable(f"The tokenizer in {folder.name!r} cannot be read: {reason}") from error
    known = ends if isinstance(ends, list) else [ends, config.eos_token_id]
    return tokenizer, config, [end for end in known if type(end) is int]


class ServedRun(TargetRun):
    """One run on a server; every pass sends the whole text, without the newest token."""

    target: ServedTarget

    def __init__(self, target: ServedTarget, capture: CaptureSpec, sampling: Sampling) -> None:
        super().__init__(target, capture)
        self.sampling = sampling
        self.text: list[int] = []
        self.tree: DraftTree | None = None

    @property
    def memory(self) -> None:
        """Implement `TargetRun.memory`: a server's passes cannot be recorded."""

    def prefill(self, ids: Sequence[int]) -> Scores:
        """Read the prompt and return logits after its last token, (1, V)."""
        ((logprobs,),) = self.target.server.logprobs([ids], [len(ids)])
        self.text = list(ids)
        self.length = len(ids)
        return self._scores([logprobs])

    def score(
        self,
        tree: DraftTree,
        extra_rows: ExtraRows | None = None,
        precomputed: PrecomputedPrefix | None = None,
    ) -> Scores:
        """Score all paths of the tree in one request."""
        # A node can be on several paths; the values of the first one are used.
        if extra_rows is not None or precomputed is not None:
            raise UnsupportedModel(
                "This drafter adds rows of its own to the target's pass, which a server does not "
                "accept. Choose n-grams, a suffix tree or a small model as drafter."
            )
        leaves = [node for node, children in enumerate(tree.children) if not children]
        paths = [tree.path(leaf) for leaf in leaves]
        texts = [[*self.text, *(tree.tokens[node] for node in path)] for path in paths]
        responses = self.target.server.logprobs(texts, [self.length + 1] * len(texts))
        found: dict[int, LogProbs] = {}
        for path, rows in zip(paths, responses, strict=True):
            if len(rows) != len(path):
                raise ServerFault("The server left out positions of the text.")
            for node, logprobs in zip(path, rows, strict=True):
                found[node] = logprobs | found.get(node, {})
        self.tree = tree
        return self._scores([found[node] for node in range(len(tree))])

    def keep(self, path: Sequence[int]) -> None:
        """Implement `TargetRun.keep`: append the nodes' tokens to the text."""
        assert self.tree is not None
        self.text += [self.tree.tokens[node] for node in path]
        self.length += len(path)

    def _scores(self, rows: Sequence[LogProbs]) -> Scores:
        for logprobs in rows:
            self._check_complete(logprobs)
        logits = to_logits(rows, self.target.vocab_size)
        return Scores(logits.to(self.target.device, exact_dtype(self.target.device)), States())

    def _check_complete(self, logprobs: LogProbs) -> None:
        # Every token that top-k keeps must be listed.
        if self.sampling.greedy:
            return
        falling = sorted(logprobs.values(), reverse=True)
        k = self.sampling.top_k
        if len(falling) <= k or falling[k - 1] <= falling[self.target.server.listed - 1]:
            raise ServerFault(
                "Several tokens are as likely as the last one that top-k keeps, and the server "
                "does not list all of them. Choose a smaller top-k."
            )
