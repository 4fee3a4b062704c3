"""What a visitor can choose, as data from the page, checked into Settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from specviz.settings import BadSettings, Candidates, Sampling, Schedule, Settings

HOUSE: Final = "house"
LONGEST_PROMPT: Final = 4000  # characters; the page's box stops there, other clients may not
DRAFTERS: Final[dict[str, tuple[str, Candidates]]] = {
    "Draft model, sampled": ("draft-model", "sampled"),
    "Draft model, top token": ("draft-model", "greedy"),
    "N-gram": ("ngram", "sampled"),
}


@dataclass(frozen=True, slots=True)
class Choices:
    """One filled-in form. target, drafter: names typed by a visitor, empty for the house's own."""

    prompt: str
    method: str
    gamma: Any
    schedule: Schedule
    temperature: Any
    top_k: Any
    top_p: Any
    seed: Any
    new_tokens: Any
    target: str = ""
    drafter: str = ""

    def settings(self) -> Settings:
        """The settings of the run. Raises BadSettings with a sentence."""
        sampling = Sampling(
            real("Temperature", self.temperature),
            whole("Top-k", self.top_k),
            real("Top-p", self.top_p),
        )
        return Settings(
            sampling=sampling,
            seed=whole("The seed", self.seed),
            max_new_tokens=whole("New tokens", self.new_tokens),
            gamma=whole("γ", self.gamma),
            schedule=self.schedule,
            candidates=self._method()[1],
        )

    def text(self) -> str:
        """The prompt. Raises BadSettings where it is longer than any that the page would send."""
        if len(self.prompt) > LONGEST_PROMPT:
            raise BadSettings(f"The prompt is longer than {LONGEST_PROMPT:,} characters.")
        return self.prompt

    def models(self) -> tuple[str, str]:
        """The names of the target and the drafter."""
        name = self._method()[0]
        typed = self.drafter.strip()
        return self.target.strip() or HOUSE, typed if typed and name != "ngram" else name

    def _method(self) -> tuple[str, Candidates]:
        if self.method not in DRAFTERS:
            raise BadSettings(f"No drafter is called {self.method!r}.")
        return DRAFTERS[self.method]


def whole(name: str, value: Any) -> int:
    """A whole number from a form. Raises BadSettings where it is none."""
    number = real(name, value)
    if number != int(number):
        raise BadSettings(f"{name} must be a whole number, not {value}.")
    return int(number)


def real(name: str, value: Any) -> float:
    """A number from a form. Raises BadSettings where it is none, or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise BadSettings(f"{name} must be a number.") from error
    if number != number or number in (float("inf"), float("-inf")):
        raise BadSettings(f"{name} must be a finite number.")
    return number
