"""What a visitor can choose, as data from the page, turned into a wish."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from specviz.settings.settings import BadSettings, Candidates, Sampling, Schedule, Settings, require
from specviz.ui.request import HOUSE, USUAL, RunRequest

NUMBERS: Final = re.compile(r"([0-9]{1,3}([\s,]+[0-9]{1,3})*)?")


@dataclass(frozen=True, slots=True)
class Choices:
    """One filled-in form. method: the drafter's name in the catalogue.

    target, drafter: models named by a visitor, empty for the house's own.
    """

    prompt: str
    method: str
    candidates: Candidates
    gamma: Any
    schedule: Schedule
    siblings: Any
    rank_paths: Any
    confidence: Any
    budget: Any
    fan_out: Any
    exit_layer: Any
    suffix_factor: Any
    suffix_least: Any
    lookahead_window: Any
    lookahead_ngram: Any
    lookahead_guesses: Any
    temperature: Any
    top_k: Any
    top_p: Any
    seed: Any
    new_tokens: Any
    target: str = ""
    drafter: str = ""

    def wish(self) -> RunRequest:
        """The run that this form asks for. Raises BadSettings with a sentence."""
        return RunRequest(self.prompt, *self.models(), self.settings())

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
            siblings=wholes("Siblings at each depth", self.siblings),
            schedule=self.schedule,
            candidates=self.candidates,
            rank_paths=paths("Paths by rank", self.rank_paths),
            confidence=real("The confidence to go on", self.confidence),
            budget=whole("The budget of a dynamic tree", self.budget),
            fan_out=whole("The fan-out of a dynamic tree", self.fan_out),
            exit_layer=whole("The exit layer", self.exit_layer),
            suffix_factor=real("The suffix factor", self.suffix_factor),
            suffix_least=real("The least chance of a suffix guess", self.suffix_least),
            lookahead_window=whole("The lookahead window", self.lookahead_window),
            lookahead_ngram=whole("The length of lookahead's n-grams", self.lookahead_ngram),
            lookahead_guesses=whole("The number of n-grams tried", self.lookahead_guesses),
        )

    def models(self) -> tuple[str, str]:
        """The names of the target and the drafter."""
        typed = self.drafter.strip()
        own = typed if self.method == USUAL else ""  # a named model drafts as a draft model
        return self.target.strip() or HOUSE, own or self.method


def whole(name: str, value: Any) -> int:
    """A whole number from a form. Raises BadSettings where it is none."""
    number = real(name, value)
    if number != int(number):
        raise BadSettings(f"{name} must be a whole number, not {value}.")
    return int(number)


def wholes(name: str, text: Any) -> list[int]:
    """Whole numbers typed one after the other. Raises BadSettings where it is anything else."""
    typed = str(text or "").strip(" ,")
    require(bool(NUMBERS.fullmatch(typed)), f"{name} are whole numbers like 3, 2.")
    return [int(number) for number in re.findall("[0-9]+", typed)]


def paths(name: str, text: Any) -> list[list[int]]:
    """Lists of whole numbers with semicolons between them. Raises BadSettings."""
    typed = str(text or "").strip(" ;")
    sentence = f"{name} are whole numbers, each path after a semicolon, like 0; 1; 0,0."
    parts = [part.strip(" ,") for part in typed.split(";")] if typed else []
    require(all(part and NUMBERS.fullmatch(part) for part in parts), sentence)
    return [wholes(name, part) for part in parts]


def real(name: str, value: Any) -> float:
    """A number from a form. Raises BadSettings where it is none, or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise BadSettings(f"{name} must be a number.") from error
    if number != number or number in (float("inf"), float("-inf")):
        raise BadSettings(f"{name} must be a finite number.")
    return number
