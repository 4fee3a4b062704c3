"""Answers on disk, batches of them, and the training of heads on them (`train heads --data`).

A folder has one file (shard) per batch of answers, and the settings of their generation. A shard is
either complete or missing. Hidden states are stored in bf16, which is sufficient to train a head. A
training batch depends only on (seed, step, stored answers); no head is trained on held-out answers.
The training loop, checkpoints and files are the same as for the heads of the shipped models.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from specviz.catalog import load_target
from specviz.catalog.loading import trainable_heads, training_family
from specviz.drafters.common.training import (
    Family,
    GeneratedText,
    HeadOptions,
    TargetOutputs,
    embedding_of,
    projection_of,
)
from specviz.models.devices import has_fast_bf16
from specviz.models.target import Target
from specviz.training.export import continue_heads, ship, weights_of
from specviz.training.head_training import HeadRecipe, HeadRun, Plan, train_heads
from specviz.training.options import Options

SETTINGS_FILE = "answers.json"


@dataclass(frozen=True, slots=True)
class Answer:
    """A question and the target's answer, n tokens in all.

    Attributes:
        tokens: Token ids, (n,).
        tops: The target's most probable next token after each token, (n,).
        states: bf16 hidden states, (n, layers + 1, h): the outputs of the tapped layers before the
            final norm, then the output after it.
    """

    tokens: Tensor
    prompt: int
    tops: Tensor
    states: Tensor
    domain: str
    held_out: bool
    temperature: float

    @property
    def own(self) -> int:
        """The number of rows whose next token the target has sampled."""
        return len(self.tokens) - self.prompt + 1


def write_shard(path: Path, answers: Sequence[Answer]) -> None:
    """Write a batch."""
    facts = [
        {"length": len(a.tokens), "prompt": a.prompt, "domain": a.domain}
        | {"held_out": a.held_out, "temperature": a.temperature}
        for a in answers
    ]
    none = torch.empty(0, dtype=torch.int32)  # the shard of a batch without answers
    tensors = {
        name: torch.cat([getattr(answer, name) for answer in answers]) if answers else none
        for name in ("tokens", "tops", "states")
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    save_file(tensors, partial, metadata={"answers": json.dumps(facts)})
    partial.replace(path)


class Shard:
    """A batch on disk, whose states are read on demand; starts: each answer's first row."""

    def __init__(self, path: Path) -> None:
        self.file = safe_open(path, "pt")
        self.facts: list[dict[str, Any]] = json.loads(self.file.metadata()["answers"])
        self.lengths = [int(each.pop("length")) for each in self.facts]
        self.starts = [0, *accumulate(self.lengths)]
        self.token_rows = {name: self.file.get_tensor(name) for name in ("tokens", "tops")}

    def token_ids(self, number: int) -> tuple[Tensor, Tensor, int]:
        """Return an answer's tokens, its top tokens and the length of its prompt."""
        rows = slice(self.starts[number], self.starts[number + 1])
        return (
            self.token_rows["tokens"][rows],
            self.token_rows["tops"][rows],
            self.facts[number]["prompt"],
        )

    def read(self, number: int) -> Answer:
        """Read a whole answer."""
        tokens, tops, _ = self.token_ids(number)
        states = self.file.get_slice("states")[self.starts[number] : self.starts[number + 1]]
        return Answer(tokens=tokens, tops=tops, states=states, **self.facts[number])


def shard_path(folder: Path, number: int) -> Path:
    """Return the path of a batch."""
    return folder / f"{number:05}.safetensors"


def shard_paths(folder: Path) -> list[Path]:
    """Return the paths of the shards in a folder, in order."""
    return sorted(folder.glob("[0-9]*.safetensors"))


def count_own_tokens(paths: Iterable[Path]) -> int:
    """Count the tokens that the target wrote in these shards."""
    total = 0
    for path in paths:
        found = Shard(path)
        total += sum(found.lengths) - sum(each["prompt"] for each in found.facts)
    return total


def check_settings(folder: Path, facts: dict[str, Any]) -> None:
    """Store the settings of a folder's shards; ValueError if those stored are different."""
    path = folder / SETTINGS_FILE
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    elif (stored := read_settings(folder)) != facts:
        names = ", ".join(sorted(k for k in facts if stored.get(k) != facts[k]))
        raise ValueError(
            f"The answers in {str(folder)!r} were written with other settings ({names}). "
            "Give the same settings, or another folder."
        )


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder's shards. Raises ValueError if there are none."""
    path = folder / SETTINGS_FILE
    if not path.is_file():
        raise ValueError(f"There are no answers in {str(folder)!r}: run `train write` first.")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig"))
    return found


MEASURED_TOKENS: Final = 1024  # tokens of an evaluation batch, which needs full distributions
MEASURED_ANSWERS: Final = 24  # number of answers to evaluate on during training
NEIGHBOURHOOD: Final = (
    4  # a batch is sampled from this many times as many answers, of similar length
)


@dataclass(frozen=True, slots=True)
class AnswerRef:
    """An answer on disk whose hidden states were not read yet."""

    shard: Shard
    number: int

    @property
    def length(self) -> int:
        """The number of tokens."""
        return self.shard.lengths[self.number]

    def read(self) -> Answer:
        """Read the whole answer."""
        return self.shard.read(self.number)


class AnswerBatches:
    """The answers of a folder as a `BatchSource`; ValueError if they are another target's."""

    def __init__(self, target: Target, folder: Path, recipe: HeadRecipe) -> None:
        facts_ = read_settings(folder)
        if facts_["target"] != target.card.hash:
            raise ValueError(f"The answers in {str(folder)!r} were written by another target.")
        self.layers: list[int] = facts_["layers"]
        self.target, self.recipe = target, recipe
        found = [Shard(path) for path in shard_paths(folder)]
        every = [AnswerRef(shard, i) for shard in found for i in range(len(shard.lengths))]
        self.held_out = [
            answer for answer in every if answer.shard.facts[answer.number]["held_out"]
        ]
        training = [p for p in every if not p.shard.facts[p.number]["held_out"]]
        self.training = sorted(training, key=lambda answer: answer.length)
        if not self.training:
            raise ValueError(f"There are no answers to train on in {str(folder)!r} yet.")
        lengths = np.array([answer.length for answer in self.training], dtype=np.float64)
        self.shares = lengths / lengths.sum()
        self.table = target.model.get_output_embeddings().weight.detach().float()

    def counts(self) -> Tensor:
        """Count, for each token, how often it was written or most probable in the answers, (V,)."""
        found = torch.zeros(self.target.vocab_size, dtype=torch.long)
        for answer in self.training:
            tokens, tops, prompt = answer.shard.token_ids(answer.number)
            for facts_ in (tokens[prompt:], tops[prompt - 1 :]):
                found += torch.bincount(facts_, minlength=len(found))
        return found

    def tokens(self) -> dict[str, dict[str, int]]:
        """Count the tokens written by the target in each domain, for training and held out."""
        found: dict[str, dict[str, int]] = {}
        for part, answers in (("training", self.training), ("held_out", self.held_out)):
            for answer in answers:
                facts = answer.shard.facts[answer.number]
                domain = found.setdefault(facts["domain"], {"training": 0, "held_out": 0})
                domain[part] += answer.length - facts["prompt"]
        return found

    def training_batch(self, step: int, families: Sequence[Family]) -> TargetOutputs:
        """Implement `BatchSource.training_batch`: answers of similar length, rows × length."""
        # A batch starts from an answer that is chosen with probability proportional to its length.
        # Batches of long answers contain fewer answers, so all answers are used equally often.
        rng = np.random.default_rng([self.recipe.seed, step])
        size = self.recipe.rows * self.recipe.length
        first = int(rng.choice(len(self.training), p=self.shares))
        count = max(1, size // self.training[first].length)
        low = max(
            0, min(first - NEIGHBOURHOOD * count // 2, len(self.training) - NEIGHBOURHOOD * count)
        )
        near = self.training[low : low + NEIGHBOURHOOD * count]
        chosen = [near[int(i)] for i in rng.permutation(len(near))[:count]]
        fitting = max(1, size // max(answer.length for answer in chosen))
        return self._target_outputs(chosen[:fitting])

    def held_out_batches(self, families: Sequence[Family]) -> Iterator[TargetOutputs]:
        """Implement `BatchSource.held_out_batches` with a few evenly spaced held-out answers."""
        every = max(1, len(self.held_out) // MEASURED_ANSWERS)
        yield from self._measured_batches(self.held_out[::every])

    def held_out_by_domain(self) -> Mapping[str, Any]:
        """Return, for each domain, a function that yields all held-out batches."""
        domains = dict.fromkeys(p.shard.facts[p.number]["domain"] for p in self.held_out)
        return {domain: self._held_out_of(domain) for domain in domains}

    def _held_out_of(self, domain: str) -> Any:
        answers = [p for p in self.held_out if p.shard.facts[p.number]["domain"] == domain]
        return lambda families: self._measured_batches(answers)

    def _measured_batches(self, answers: Sequence[AnswerRef]) -> Iterator[TargetOutputs]:
        waiting = sorted(answers, key=lambda answer: answer.length)
        while waiting:
            count = max(1, MEASURED_TOKENS // waiting[min(3, len(waiting) - 1)].length)
            yield self._target_outputs(waiting[:count])
            waiting = waiting[count:]

    def _target_outputs(self, answers: Sequence[AnswerRef]) -> TargetOutputs:
        # Padded on the right.
        read = [answer.read() for answer in answers]
        device = self.target.device
        states = pad_sequence([a.states for a in read], batch_first=True).to(device).float()
        own = pad_sequence([_own_rows(a) for a in read], batch_first=True)
        tops = pad_sequence([a.tops.long() for a in read], batch_first=True)
        model = self.target.model
        return TargetOutputs(
            tokens=pad_sequence([a.tokens.long() for a in read], batch_first=True).to(device),
            states={layer: states[:, :, i] for i, layer in enumerate(self.layers)},
            final=states[:, :, -1],
            keys_values={},
            embed=embedding_of(model),
            head=projection_of(model),
            generated=GeneratedText(tops.to(device), own.to(device), self.table),
        )


def _own_rows(answer: Answer) -> Tensor:
    # (n,) bool: tokens whose next token the target wrote.
    return torch.arange(len(answer.tokens)) >= answer.prompt - 1


DEFAULT_TOKENS: Final = 1_000_000  # number of tokens trained on, including prompts and repetitions


@dataclass(frozen=True)
class AnswerRecipe(HeadRecipe):
    """Recipe of heads that are initialized from the target; only AdamW is used.

    Attributes:
        matrix_rate: 0, so that AdamW also trains the matrices.
        warm_up: Steps over which the learning rate rises.
        draft_vocabulary: See `HeadOptions`.
        unrolled: Number of draft steps in training.
    """

    matrix_rate: float = 0.0
    other_rate: float = 5e-4
    warm_up: int = 50
    draft_vocabulary: int = 0
    unrolled: int = 0


def train_on_answers(options: Options, data: Path) -> list[HeadRun]:
    """Train heads, and write those that did not diverge. ValueError if the answers do not fit."""
    torch.set_num_threads(options.threads)
    families = [
        family_with_options(name, options.head_options) for name in options.names or ("eagle3",)
    ]
    target = load_target(options.target, options.device)
    recipe = _recipe(options, target)
    families, before = continue_heads(families, options.start, recipe.made_for)
    answers = AnswerBatches(target, data, recipe)
    tokens, folder = options.tokens or DEFAULT_TOKENS, options.work / "heads"
    plan = Plan(recipe, tokens, folder, answers, answers.counts())
    runs = train_heads(target, families, plan)
    facts = {"corpus_tokens": answers.tokens()} | before
    ship(runs, target, plan, answers.held_out_by_domain(), options.out, facts)
    return runs


def family_with_options(name: str, options: HeadOptions) -> Family:
    """Return a head's family, with these options; ValueError if it cannot use answers."""
    found = training_family(name)
    if found.with_options is None:
        able = ", ".join(each for each in trainable_heads() if training_family(each).with_options)
        raise ValueError(f"{name} cannot be trained on answers; these heads can: {able}.")
    return found.with_options(options)


def _recipe(options: Options, target: Target) -> AnswerRecipe:
    exact = options.precision == "float32" or not has_fast_bf16(target.device)
    return AnswerRecipe(
        seed=options.seed,
        other_rate=AnswerRecipe.other_rate * options.rate,
        made_for=target.card.hash or "",
        precision="float32" if exact else options.precision,
        draft_vocabulary=options.head_options.draft_vocabulary,
        unrolled=options.head_options.steps,
        start=weights_of(options.start),
    )
