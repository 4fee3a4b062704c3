"""Lessons: Markdown files whose numbers are read from recorded runs.

A lesson begins with front matter in TOML. Each step is a heading, a block of TOML that says what
the page shows and what a speaker can say (`notes`), and paragraphs of text. Text is a Jinja2
template: `{{ p }}` is replaced by the number that the page shows at this step, so the file contains
no numbers of a run. What a text claims about its run is written as an expression, `holds`, which is
checked when the lesson is read. `**bold**`, `*emphasis*` and `[links](https://...)` are the only
markup. `sources` reads the files and their translations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NotRequired, TypedDict

from specviz.settings.suggestion import did_you_mean
from specviz.shipped import ASSETS
from specviz.texts import Part, Piece, evaluate, render_text
from specviz.texts.languages import ENGLISH, languages
from specviz.trace import metrics
from specviz.trace.overlap import EarlyDraft
from specviz.ui import tabs
from specviz.ui.learn.figures import Gain, bars, gain
from specviz.ui.learn.sources import BadLesson, StepSource, find_translation, read_in
from specviz.ui.learn.values import Values, find_frame, find_overlap, find_preset, read_trace
from specviz.ui.lossless.sandbox import TITLES

DIGITS: Final = 3  # of a lesson's number
RENUMBERED: Final = {2: 6, 3: 5, 4: 2, 5: 3, 6: 4}  # by the number in earlier versions
FOLDER: Final = ASSETS / "lessons"
TABS: Final = ("Step", "Learn", *tabs.TABS, "Models")
MOST_STEPS: Final = 8
# Parts of the page that a step may hide until its question is answered; see 80-learn.css.
HIDEABLE: Final = ("both", "caption", "coin", "evidence", "expected", "gallery", "speed")
# Keys of a step that are sent to the page unchanged.
DISPLAY: Final = ("case", "example", "form", "grown", "hides", "simple", "stepped")
# The last kind is a link: to another site, or to a view of this app such as ?tab=models.
MARKUP: Final = re.compile(r"\*\*(.+?)\*\*|\*(.+?)\*|\[(.+?)\]\(((?:https://|\?)\S+?)\)")


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

    then: step to which the page moves when it shows the answer.
    """

    ask: Paragraph
    options: list[Paragraph]
    answer: int
    why: list[Paragraph]
    then: NotRequired[Place]


class SandboxState(TypedDict):
    """What the sandbox of Lossless? shows: a preset, or words of a round, and a rule."""

    preset: str
    words: Sequence[list[Piece]]
    p: Sequence[float]
    q: Sequence[float]
    drawn: str
    candidates: int
    rule: str


class PipelineRound(TypedDict):
    """A round, compared with the work of a branch predictor. Times are in milliseconds.

    Attributes:
        next: Number of guesses in the next round; None after the last one.
        early: Time during the check in which the next round could be drafted.
        saved: How much of the next round's drafting this would save.
        outcome: What became of the prediction that needs: see `trace.overlap.EarlyDraft`;
            "" if there was none.
    """

    number: int
    drafted: int
    accepted: int
    next: int | None
    drafting: float
    check: float
    early: float
    saved: float
    outcome: str


class OverlapSummary(TypedDict):
    """A run in which the drafter drafts during each check, simulated.

    Attributes:
        hits: Number of predictions that came true.
        saved: Time that is saved, in milliseconds.
        drafting: Time of drafting in the run as it was.
        speedup: Speed in plain decoding's, as it was and with the saving.
    """

    hits: int
    predictions: int
    saved: float
    drafting: float
    speedup: list[float]


class Figure(TypedDict):
    """An excerpt of the player, in the article."""

    show: list[str]
    height: int
    caption: Paragraph


class LessonStep(TypedDict):
    """One step of a lesson.

    Attributes:
        rounds: Rounds of the run, to compare them with a processor's pipeline.
        overlap: What drafting during each check would save; then the pipeline shows this.
        gain: What the figure of the speed-up begins with.
        figure: An excerpt of the player; only in the article.
        case: Key of the case that the gallery of the tab Lossless? opens.
        example: Constructed tree that the rounding study of the tab Lossless? shows.
        grown: Whether the tab Trees shows its tree fully grown.
        form: Whether the form on the tab Step is needed; otherwise it makes room for the
            lesson.
        simple: Whether the tab Step shows one picture instead of all details.
        stepped: Whether the run's own buttons are shown, since the reader steps through it.
        hides: Parts of the page that are hidden until the question is answered.
        notes: For the speaker only; empty if there are none.
    """

    title: str
    tab: str
    text: list[Paragraph]
    look: str
    notes: list[Paragraph]
    place: NotRequired[Place]
    sandbox: NotRequired[SandboxState]
    rounds: NotRequired[list[PipelineRound]]
    overlap: NotRequired[OverlapSummary]
    gain: NotRequired[Gain]
    attempt: NotRequired[Paragraph]
    figure: NotRequired[Figure]
    case: NotRequired[str]
    example: NotRequired[str]
    grown: NotRequired[bool]
    form: NotRequired[bool]
    simple: NotRequired[bool]
    stepped: NotRequired[bool]
    hides: NotRequired[list[str]]
    predict: NotRequired[Prediction]


class LessonTitle(TypedDict):
    """An entry in the list of lessons.

    group: the heading below which it is listed: a key of the catalogue's words; "" for the article.
    """

    id: str
    title: str
    question: str
    minutes: int
    group: str
    lang: str


class Lesson(LessonTitle):
    """A whole lesson. next: id of the next lesson; "" after the last."""

    next: str
    steps: list[LessonStep]
    sources: list[Paragraph]
    languages: list[str]


def titles(lang: str = ENGLISH) -> list[LessonTitle]:
    """Return the titles of all lessons, in order; in English if not translated."""
    found = []
    for file in sorted(FOLDER.glob("*.md")):
        own = find_translation(file, lang)
        found.append(_title(file, read_in(file, lang).head, lang if own else ENGLISH))
    return found


def full_name(number: int) -> str | None:
    """Return the name of the lesson with this number, such as "07-several-guesses" for 7."""
    return next((file.stem for file in FOLDER.glob(f"{number:02}-*.md")), None)


def linked_name(link: str) -> str:
    """Return the lesson that a link names: a name, or a number, also one of old links."""
    if link.isascii() and link.isdigit() and len(link) <= DIGITS:
        number = int(link)
        return full_name(RENUMBERED.get(number, number)) or link
    digits, _, title = link.partition("-")
    moved = [file.stem for file in FOLDER.glob("*.md") if file.stem.partition("-")[2] == title]
    return moved[0] if digits.isdigit() and moved else link


@cache
def lesson(name: str, lang: str = ENGLISH) -> Lesson:
    """Read a lesson and fill in its numbers. Without a translation, it is in English.

    Raises BadLesson if there is no such lesson, or if something that it needs is missing.
    """
    known = [each.stem for each in FOLDER.glob("*.md")]
    if name not in known:
        raise BadLesson(f"There is no lesson of this name.{did_you_mean(name, known)}")
    file = FOLDER / f"{name}.md"
    found = read(file, lang)
    if len(found["steps"]) > MOST_STEPS:
        raise BadLesson(f"Lesson {name} has more than {MOST_STEPS} steps.")
    return found


def read(file: Path, lang: str = ENGLISH) -> Lesson:
    """Read a file and fill in its numbers.

    Raises BadLesson if something that the lesson needs is missing.
    """
    source = read_in(file, lang)
    trace = str(source.head.get("trace", ""))
    try:
        steps = [_step(step, trace) for step in source.steps]
        sources = [inline(each) for each in source.head.get("sources", [])]
    except (KeyError, ValueError, TypeError) as problem:
        raise BadLesson(f"{file.stem}: {problem}") from problem
    if not steps:
        raise BadLesson(f"{file.stem} has no steps.")
    later = sorted(other.stem for other in file.parent.glob("*.md"))
    later = later[later.index(file.stem) + 1 :]
    known = [code for code in languages() if code == ENGLISH or find_translation(file, code)]
    return {
        **_title(file, source.head, lang if lang in known else ENGLISH),
        "next": later[0] if later else "",
        "steps": steps,
        "sources": sources,
        "languages": known,
    }


def _title(file: Path, head: Mapping[str, Any], lang: str) -> LessonTitle:
    return {
        "id": file.stem,
        "title": head["title"],
        "question": head["question"],
        "minutes": head["minutes"],
        "group": head.get("group", ""),
        "lang": lang,
    }


def _step(source: StepSource, trace: str) -> LessonStep:
    # trace: the lesson's run, which a step can replace by another.
    screen = source.screen
    trace = screen.get("trace", trace)
    place = _place(screen.get("at"), trace)
    _check(screen.get("holds"), _values(trace, place))
    say = partial(_paragraphs, values=_values(trace, place))
    tab = screen.get("tab", "Step")
    if tab not in TABS:
        raise ValueError(f"there is no tab {tab!r}")
    step: LessonStep = {
        "title": source.title,
        "tab": tab,
        "text": say(source.text),
        "look": screen.get("look", ""),
        "notes": say(screen.get("notes", "")),
    }
    if place:
        step["place"] = place
    if caption := screen.get("caption"):
        step["figure"] = {
            "show": screen["show"],
            "height": screen["height"],
            "caption": say(caption)[0],
        }
    if attempt := screen.get("try"):
        step["attempt"] = say(attempt)[0]
    if asked := screen.get("predict"):
        step["predict"] = _prediction(asked, trace, place)
    _add_numbers(step, screen, trace)
    _add_display(step, screen)
    return step


def _add_numbers(step: LessonStep, screen: Mapping[str, Any], trace: str) -> None:
    figure = screen.get("figure")
    if figure in ("pipeline", "overlap"):
        step["rounds"] = _pipeline(trace)
    if figure == "overlap":
        step["overlap"] = _overlap(trace)
    if figure == "gain":
        step["gain"] = gain(trace)
    if preset := screen.get("preset"):
        step["sandbox"] = _sandbox(preset, screen.get("rule", ""))
    elif step["tab"] == "Lossless?" and "place" in step:
        step["sandbox"] = _sandbox_of_round(step["place"])


def _add_display(step: LessonStep, screen: Mapping[str, Any]) -> None:
    if unknown := set(screen.get("hides", [])) - set(HIDEABLE):
        raise ValueError(f"a step cannot hide {', '.join(sorted(unknown))}")
    display: dict[str, Any] = {name: screen[name] for name in DISPLAY if name in screen}
    step.update(display)  # type: ignore[typeddict-item]


def _values(trace: str, place: Place | None) -> Values:
    return Values(trace, (place["round"], place["step"]) if place else None)


def _check(claim: str | None, values: Mapping[str, Any]) -> None:
    # A claim is a Jinja2 expression.
    if claim and not evaluate(claim, values):
        raise ValueError(f"its run does not satisfy {claim!r}")


def _prediction(asked: Mapping[str, Any], trace: str, place: Place | None) -> Prediction:
    then = _place(asked.get("then"), trace)
    say = partial(_paragraphs, values=_values(trace, then or place))
    options = [[_plain(part) for part in say(str(option))[0]] for option in asked["options"]]
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


def _plain(part: Any) -> Inline:
    # Plain, since its colour would reveal the answer.
    number: Inline = part["n"] if isinstance(part, dict) and "n" in part else part
    return number


def _place(written: str | None, trace: str) -> Place | None:
    if written is None:
        return None
    number, _, step = written.partition(" ")
    place: Place = {"trace": trace, "round": int(number), "step": step}
    find_frame(trace, int(number), step)
    return place


def _sandbox(name: str, rule: str) -> SandboxState:
    preset = find_preset(name)
    if rule and rule not in TITLES:
        raise ValueError(f"the sandbox has no rule {rule!r}")
    return {
        "preset": name,
        "words": preset["words"],
        "p": preset["p"],
        "q": preset["q"],
        "drawn": "sampled",
        "candidates": 1,
        "rule": rule or preset["rule"] or "auto",
    }


def _sandbox_of_round(place: Place) -> SandboxState:
    values = bars(place["trace"], place["round"], place["step"])
    return {**values, "preset": "", "drawn": "sampled", "candidates": 1, "rule": "auto"}


def _pipeline(name: str) -> list[PipelineRound]:
    # Without the first one, which drafts nothing.
    early = find_overlap(name).drafts
    played = [(each, each.proposed) for each in read_trace(name).rounds if each.proposed]
    played = [(each, proposed) for each, proposed in played if each.number]
    drafted = [len(proposed.guesses) for _, proposed in played]
    nothing = EarlyDraft("", 0.0, 0.0)
    return [
        {
            "number": each.number,
            "drafted": guesses,
            "accepted": len(metrics.accepted_path(each)),
            "next": after,
            "drafting": 1e3 * proposed.seconds,
            "check": 1e3 * metrics.verify_seconds(each),
            "early": 1e3 * early.get(each.number, nothing).seconds,
            "saved": 1e3 * early.get(each.number, nothing).saved,
            "outcome": early.get(each.number, nothing).outcome,
        }
        for (each, proposed), guesses, after in zip(
            played, drafted, [*drafted[1:], None], strict=True
        )
    ]


def _overlap(name: str) -> OverlapSummary:
    found, numbers = find_overlap(name), metrics.summary(read_trace(name))
    return {
        "hits": found.hits,
        "predictions": len(found.drafts),
        "saved": 1e3 * found.saved,
        "drafting": 1e3 * numbers["draft_seconds"],
        "speedup": [numbers["speedup"], found.speedup or 0.0],
    }


def _paragraphs(text: str, values: Mapping[str, Any]) -> list[Paragraph]:
    blocks = [block for block in re.split(r"\n\s*\n", text.strip()) if block.strip()]
    return [inline(block, values) for block in blocks]


def inline(text: str, values: Mapping[str, Any] | None = None) -> Paragraph:
    """Render one paragraph: numbers and tokens first, then bold, emphasis and links."""
    found: Paragraph = []
    for part in render_text(text, values or {}):
        found.extend(_marked_up(part) if isinstance(part, str) else [part])
    return found


def _marked_up(text: str) -> list[Inline]:
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
