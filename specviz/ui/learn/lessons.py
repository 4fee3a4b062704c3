"""Lessons: Markdown files whose numbers are read from recorded runs.

A lesson begins with front matter in YAML. Each step is a heading, a block of YAML that says what
the page shows, and paragraphs of text. Text is a Jinja2 template: `{{ p }}` is the number that the page
shows at the step, so a lesson contains no number of a run itself; what a text claims about its run
is an expression, `holds`, which is checked when the lesson is read. `**bold**`, `*emphasis*` and
`[links](https://...)` are the only markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

import yaml

from specviz.frames.frame import frame_at
from specviz.frames.numbers import format_seconds
from specviz.frames.scene import Scene
from specviz.shipped import ASSETS
from specviz.texts import Part, Piece, evaluate, render_text
from specviz.trace import metrics
from specviz.trace.file import Trace
from specviz.ui.lossless.sandbox import section as sandbox
from specviz.ui.step import recorded

FOLDER: Final = ASSETS / "lessons"
TABS: Final = ("Step", "Compare", "Lossless?", "Trees", "Cost", "Models")
MOST_STEPS: Final = 8
HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)
SCREEN: Final = re.compile(r"\A\s*```yaml\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
MARKUP: Final = re.compile(r"\*\*(.+?)\*\*|\*(.+?)\*|\[(.+?)\]\((https://\S+?)\)")


class BoldPart(TypedDict):
    """Words in bold."""

    b: str


class EmphasisPart(TypedDict):
    """Words in italics."""

    i: str


class LinkPart(TypedDict):
    """A link to another site."""

    a: str
    href: str


Inline = Part | BoldPart | EmphasisPart | LinkPart
Paragraph = list[Inline]


class Place(TypedDict):
    """A step of a recorded run: the number of the round and the name of the step."""

    trace: str
    round: int
    step: str


class Prediction(TypedDict):
    """A question that the reader answers before the page shows what happened.

    Attributes:
        options: The possible answers.
        answer: Index of the right one.
        why: Shown with the answer.
        then: Where the page moves with the answer.
    """

    ask: Paragraph
    options: list[Paragraph]
    answer: int
    why: list[Paragraph]
    then: NotRequired[Place]


class SandboxState(TypedDict):
    """What the sandbox of Lossless? shows: a preset with its rule."""

    preset: str
    words: list[list[Piece]]
    p: tuple[float, ...]
    q: tuple[float, ...]
    drawn: str
    candidates: int
    rule: str


class PipelineRound(TypedDict):
    """A round as a branch predictor's work.

    Attributes:
        drafted: Guesses.
        accepted: Accepted guesses.
        next: Guesses of the next round; None after the last one.
    """

    number: int
    drafted: int
    accepted: int
    next: int | None


class LessonStep(TypedDict):
    """One step of a lesson.

    Attributes:
        tab: The tab that it opens.
        place: Where the run is moved.
        look: The selector of what it is about.
        sandbox: What the sandbox of Lossless? shows.
        rounds: Of the run, for a processor's pipeline beside it.
        attempt: Something to try on the page.
    """

    title: str
    tab: str
    text: list[Paragraph]
    look: str
    place: NotRequired[Place]
    sandbox: NotRequired[SandboxState]
    rounds: NotRequired[list[PipelineRound]]
    attempt: NotRequired[Paragraph]
    predict: NotRequired[Prediction]


class LessonTitle(TypedDict):
    """What the list of lessons shows of one."""

    id: str
    title: str
    question: str
    minutes: int


class Lesson(LessonTitle):
    """A whole lesson."""

    steps: list[LessonStep]
    sources: list[Paragraph]


class BadLesson(ValueError):
    """A lesson that cannot be read; says which and why."""


def titles() -> list[LessonTitle]:
    """Return the titles of all lessons, in the order of their files' names."""
    found = []
    for file in sorted(FOLDER.glob("*.md")):
        head, _ = _front_matter(file)
        found.append(_title(file, head))
    return found


@cache
def lesson(name: str) -> Lesson:
    """Read a lesson and fill in its numbers.

    Raises:
        BadLesson: If there is no such lesson, or if something that it needs is missing.
    """
    file = FOLDER / f"{name}.md"
    if file.stem != name or not file.is_file():
        raise BadLesson("There is no lesson of this name.")
    head, text = _front_matter(file)
    _, *parts = HEADING.split(text)
    trace = str(head.get("trace", ""))
    try:
        steps = [
            _step(title, body, trace) for title, body in zip(parts[::2], parts[1::2], strict=True)
        ]
        sources = [inline(source) for source in head.get("sources", [])]
    except (KeyError, ValueError, TypeError) as problem:
        raise BadLesson(f"Lesson {name}: {problem}") from problem
    if not 1 <= len(steps) <= MOST_STEPS:
        raise BadLesson(f"Lesson {name} has {len(steps)} steps; at most {MOST_STEPS} are allowed.")
    return {**_title(file, head), "steps": steps, "sources": sources}


def _front_matter(file: Path) -> tuple[dict[str, Any], str]:
    _, head, text = file.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), text


def _title(file: Path, head: Mapping[str, Any]) -> LessonTitle:
    return {
        "id": file.stem,
        "title": head["title"],
        "question": head["question"],
        "minutes": head["minutes"],
    }


def _step(title: str, body: str, trace: str) -> LessonStep:
    """Read one step. trace: of the lesson, which a step may change."""
    found = SCREEN.match(body)
    screen: dict[str, Any] = yaml.safe_load(found.group(1)) if found else {}
    text = body[found.end() :] if found else body
    trace = screen.get("trace", trace)
    place = _place(screen.get("at"), trace)
    _check(screen.get("holds"), Values(trace, place))
    say = partial(_paragraphs, values=Values(trace, place))
    tab = screen.get("tab", "Step")
    if tab not in TABS:
        raise ValueError(f"there is no tab {tab!r}")
    step: LessonStep = {
        "title": title.strip(),
        "tab": tab,
        "text": say(text),
        "look": screen.get("look", ""),
    }
    if place:
        step["place"] = place
    if preset := screen.get("preset"):
        step["sandbox"] = _sandbox(preset)
    if screen.get("figure") == "pipeline":
        step["rounds"] = _pipeline(_trace(trace))
    if attempt := screen.get("try"):
        step["attempt"] = say(attempt)[0]
    if asked := screen.get("predict"):
        step["predict"] = _prediction(asked, trace, place)
    return step


def _check(claim: str | None, values: Mapping[str, Any]) -> None:
    """Raise ValueError unless a step's claim about its run holds. claim: a Jinja2 expression."""
    if claim and not evaluate(claim, values):
        raise ValueError(f"its run does not satisfy {claim!r}")


def _prediction(asked: Mapping[str, Any], trace: str, place: Place | None) -> Prediction:
    then = _place(asked.get("then"), trace)
    say = partial(_paragraphs, values=Values(trace, then or place))
    options = [say(str(option))[0] for option in asked["options"]]
    made: Prediction = {
        "ask": say(asked["ask"])[0],
        "options": options,
        "answer": asked["answer"],
        "why": say(asked["why"]),
    }
    if not 0 <= made["answer"] < len(options):
        raise ValueError(f"no option is number {made['answer']}")
    if then:
        made["then"] = then
    return made


def _place(written: str | None, trace: str) -> Place | None:
    """Read a place such as "1 judge-5". Raises ValueError if the run has no such step."""
    if written is None:
        return None
    number, _, step = written.partition(" ")
    place: Place = {"trace": trace, "round": int(number), "step": step}
    _frame(trace, int(number), step)
    return place


@cache
def _trace(name: str) -> Trace:
    return recorded.trace(name)


def _frame(trace: str, number: int, step: str) -> Mapping[str, Any]:
    rounds = _trace(trace).rounds
    for index, played in enumerate(rounds):
        if played.number != number:
            continue
        scene = Scene.of(_trace(trace), index)
        for each in scene.steps:
            frame = frame_at(scene, each)
            if frame["step"]["id"] == step:
                return frame
    raise ValueError(f"the run {trace} has no step {step} in round {number}")


def _preset(name: str) -> sandbox.Preset:
    for preset in sandbox.PRESETS:
        if preset["name"] == name:
            return preset
    raise ValueError(f"the sandbox has no preset {name!r}")


def _sandbox(name: str) -> SandboxState:
    preset = _preset(name)
    return {
        "preset": name,
        "words": preset["words"],
        "p": preset["p"],
        "q": preset["q"],
        "drawn": "sampled",
        "candidates": 1,
        "rule": preset["rule"] or "auto",
    }


def _pipeline(trace: Trace) -> list[PipelineRound]:
    """Return the rounds of a run without the first, which drafts nothing."""
    played = [(each, each.proposed) for each in trace.rounds if each.proposed and each.number]
    drafted = [len(proposed.guesses) for _, proposed in played]
    return [
        {
            "number": each.number,
            "drafted": guesses,
            "accepted": len(metrics.accepted_path(each)),
            "next": after,
        }
        for (each, _), guesses, after in zip(played, drafted, [*drafted[1:], None], strict=True)
    ]


@dataclass(frozen=True)
class Run:
    """The numbers of a whole recorded run, formatted as the page shows them."""

    name: str
    numbers: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", metrics.summary(_trace(self.name)))

    @property
    def tokens(self) -> int:
        """New tokens."""
        return int(self.numbers["tokens"])

    @property
    def passes(self) -> int:
        """Target passes."""
        return int(self.numbers["target_passes"])

    @property
    def per_pass(self) -> str:
        """New tokens per target pass."""
        return f"{self.numbers['tokens_per_pass']:.1f}"

    @property
    def alpha(self) -> str:
        """The mean probability of acceptance, α."""
        return f"{self.numbers['alpha']:.2f}"

    @property
    def speedup(self) -> str:
        """How many times as fast as plain decoding."""
        return f"{self.numbers['speedup']:.2f}"

    @property
    def pass_time(self) -> str:
        """The median time of a plain pass after the prompt."""
        baseline = _trace(self.name).baseline
        assert baseline is not None
        later = sorted(baseline.seconds[1:])
        return format_seconds(later[len(later) // 2])

    def positions(self, number: int) -> int:
        """Positions that a round's target pass computed: its guesses and the last token."""
        return len(self._round(number).scored.p) + 1

    def scored(self, number: int) -> str:
        """The time of a round's target pass."""
        return format_seconds(self._round(number).scored.seconds)

    def setting(self, name: str) -> Any:
        """A setting of the run."""
        return _trace(self.name).header.settings[name]

    def _round(self, number: int) -> Any:
        return next(each for each in _trace(self.name).rounds if each.number == number)

    @property
    def weights(self) -> str:
        """The number of the target's weights."""
        return f"{_trace(self.name).header.target.parameters / 1e6:.1f} million"

    @property
    def drafter_share(self) -> str:
        """The drafter's weights as a share of the target's."""
        header = _trace(self.name).header
        return f"{header.drafter.parameters / header.target.parameters:.0%}"


class Values(Mapping[str, Any]):
    """What a lesson's text can name: the numbers at its step, of its run and of exact computations.

    `p`, `q`, `u`, `threshold` and `residual` are the first such number in the page's sentence at
    the step, and `token` is the first token in it.
    """

    def __init__(self, trace: str, place: Place | None) -> None:
        self._trace = trace
        self._known: dict[str, Callable[[], Any]] = {
            "other": lambda: Run,
            "at": lambda: self._at,
            "overlap": lambda: lambda name: _two_digits(_overlap(name)),
            "rejected": lambda: lambda name: _two_digits(1 - _overlap(name)),
            "bound": lambda: lambda name: _two_digits(_bound(name)),
            "darts": lambda: lambda name: _two_digits(1 / _bound(name)),
        }
        if trace:
            self._known["run"] = lambda: Run(trace)
        if place:
            said = _sentence(trace, place["round"], place["step"])
            self._known |= {name: partial(said.__getitem__, name) for name in said}

    def __getitem__(self, name: str) -> Any:
        return self._known[name]()

    def __iter__(self) -> Any:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _at(self, written: str, trace: str = "") -> Mapping[str, Any]:
        number, _, step = written.partition(" ")
        return _sentence(trace or self._trace, int(number), step)


def _sentence(trace: str, number: int, step: str) -> dict[str, Any]:
    """Return the numbers and the token of the page's sentence at a step."""
    parts: Sequence[Any] = _frame(trace, number, step)["caption"]["parts"]
    said: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, str):
            continue
        if "w" in part:
            said.setdefault("token", part)
        elif "n" in part:
            said.setdefault("threshold" if part["as"] == "both" else part["as"], part)
    return said


def _overlap(name: str) -> float:
    """Return Σ min(p, q) of a preset: the probability of acceptance."""
    preset = _preset(name)
    return sum(map(min, preset["p"], preset["q"]))


def _bound(name: str) -> float:
    """Return M, the largest p ÷ q of a preset."""
    preset = _preset(name)
    return max(p / q for p, q in zip(preset["p"], preset["q"], strict=True) if q)


def _two_digits(value: float) -> str:
    return f"{value:.2f}"


def _paragraphs(text: str, values: Mapping[str, Any]) -> list[Paragraph]:
    blocks = [block for block in re.split(r"\n\s*\n", text.strip()) if block.strip()]
    return [inline(block, values) for block in blocks]


def inline(text: str, values: Mapping[str, Any] | None = None) -> Paragraph:
    """Render one paragraph: its numbers and tokens, then bold, emphasis and links."""
    found: Paragraph = []
    for part in render_text(text, values or {}):
        found.extend(_marked_up(part) if isinstance(part, str) else [part])
    return found


def _marked_up(text: str) -> list[Inline]:
    """Split text at its markup."""
    found: list[Inline] = []
    end = 0
    for match in MARKUP.finditer(text):
        found.append(text[end : match.start()])
        bold, emphasis, label, address = match.groups()
        if bold:
            found.append({"b": bold})
        elif emphasis:
            found.append({"i": emphasis})
        else:
            found.append({"a": label, "href": address})
        end = match.end()
    found.append(text[end:])
    return [part for part in found if part != ""]
