"""Command-line options, as the stages of `specviz train` receive them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from specviz.drafters.common.training import HeadOptions
from specviz.training.measure import MeasurementPlan


@dataclass(frozen=True)
class Options:
    """Options of one `specviz train` run.

    Attributes:
        corpus: Folder of `<domain>.jsonl.xz` files, or the name of a Hub data set.
        out: Folder that the finished models are written to.
        work: Folder of intermediate files: tokenizer, token arrays, training checkpoints.
        tokens: Number of tokens to train on; None for as many as the shipped models were
            trained on.
        seed: Seed of the initial weights and of the order of the data.
        fast: Whether the training pass is compiled.
        names: Names of the heads to train; empty for all.
        own_text: Number of tokens of text by the target in the heads' training data.
        rate: Factor on the heads' learning rates.
        precision: Precision of the heads' forward passes: "float32", or the autocast dtype.
        measure: The plan of `train measure`.
        target: Name, folder or file of the target.
        data: Folder of the target's answers; None to train heads on the corpus.
        head_options: Options of a head that is trained on answers.
        start: Folder of a head whose training continues; None for a new head.
    """

    corpus: str
    out: Path
    work: Path
    tokens: int | None
    seed: int
    threads: int
    device: str
    fast: bool
    names: tuple[str, ...] = ()
    own_text: int = 0
    rate: float = 1.0
    nice: int = 0
    precision: str = "bfloat16"
    measure: MeasurementPlan = field(default_factory=MeasurementPlan)
    target: str = "house"
    questions: Path = Path(".train/questions.jsonl")
    count: int = 10_000
    data: Path | None = None
    head_options: HeadOptions = field(default_factory=HeadOptions)
    start: Path | None = None

    @property
    def answers(self) -> Path:
        """The folder of the target's answers."""
        return self.data or self.work / "answers"
