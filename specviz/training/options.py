"""What the command line says to the stages of `train`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from specviz.drafters.kit.training import Fitting
from specviz.training.measure import Extent


@dataclass(frozen=True)
class Options:
    """What the command line says; `tokens` None means the total that the shipped models had.

    The rest is for heads. names: which, all of them if empty. own_text: tokens that the target
    writes for them. rate: a factor on the learning rates. nice: how far to stand back for others.
    precision: of the passes, float32 or that of autocast. measure: how much is measured.

    For heads of any target. target: its name, folder or file. questions: the file of what it is
    asked, count of them. data: the folder of its answers.
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
    measure: Extent = field(default_factory=Extent)
    target: str = "house"
    questions: Path = Path(".train/questions.jsonl")
    count: int = 10_000
    data: Path | None = None
    fitting: Fitting = field(default_factory=Fitting)

    @property
    def answers(self) -> Path:
        """Where the target's answers are kept."""
        return self.data or self.work / "answers"
