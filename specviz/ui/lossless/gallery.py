"""Published rules, right and wrong, and "Find the fault": two instruments.

Verdicts are computed from each rule's exact output distribution, never stored.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, TypedDict

import gradio as gr
import plotly.graph_objects as go

from specviz.frames.scene import flat, word
from specviz.texts import text
from specviz.ui.component import TabContext
from specviz.ui.instrument import Instrument, figure, shown, verbatim
from specviz.ui.lossless.coins import SURE, often, seldom
from specviz.ui.lossless.output import OUTPUT, output_figure
from specviz.ui.lossless.sandbox import EXPERIMENT, WORDS, RuleRow, rules
from specviz.ui.table import filled, listing

if TYPE_CHECKING:
    from specviz.verification.published_rules import CaseResult, CaseStudy

FIRST: Final = "top-k-masked"
COLUMNS: Final = {"verdict": 19, "rule": 58, "distance": 23}  # widths in percent
NAMES: Final = [flat(word(name.encode())) for name in WORDS]
THROWS: Final = 20_000
STRANGEST: Final = 6  # how many sequences are listed if single tokens do not show the error
OFFERED: Final = 4
SOUND: Final = "No fault: the output follows p"


def build(place: TabContext) -> None:
    """Build the two instruments."""
    title, first = "Published rules, right and wrong", text("lossless", "published_lead")
    with Instrument(place, "gallery", title, "computed exactly", first, wide=True) as instrument:
        gr.Markdown(first, elem_classes="sv-note")
        with gr.Row():
            with gr.Column(scale=4, min_width=300):
                find = gr.Textbox(
                    "", label="Find a rule, a line of code or a thread", placeholder="qx",
                    max_length=100,
                )  # fmt: skip
                borrows = gr.Checkbox(label="Test all with the sandbox’s p and q")
                listed = gr.Dataframe(
                    headers=list(COLUMNS), datatype="markdown", interactive=False, wrap=True,
                    max_height=460, label="Published rules", show_label=False, buttons=[],
                    elem_id="sv-gallery-rules", elem_classes="sv-data",
                )  # fmt: skip
            with gr.Column(scale=5, min_width=300, elem_id="sv-gallery-rule"):
                case = gr.Markdown()
                output = figure("sv-gallery-output", "output-of-a-rule")
                why = gr.Markdown(elem_classes="sv-gallery-why")
                threads = gr.Markdown()
        rule = gr.State(FIRST)
        sandbox = gr.Textbox(visible=False)
    instrument.wire(
        {"find": find, "borrows": borrows, "rule": rule, "sandbox": sandbox},
        {"rule": rule, "rules": listed, "case": case, "output": output, "why": why,
         "threads": threads},
        respond,
        keys={"case": "rule", "find": "find"},
        js=EXPERIMENT,
    )  # fmt: skip
    instrument.hear(listed.select, lambda event, _: {"rule": named(event.row_value[1])})
    build_quiz(place)


def respond(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs for the controls' values. Raises ValueError if they are invalid."""
    names, results = tested(values["sandbox"] if values["borrows"] else "")
    found = [each for each in results if matches(each, values["find"])]
    offered = in_menu(values["find"])
    if not found:
        raise ValueError(text("lossless", "published_none", rules=offered))
    each = next((one for one in found if one.key == values["rule"]), found[0])
    result, q = results[each]
    out, p = result.first()
    sentence = verdict(each, result)
    drawing = output_figure(names[: len(p)], {"output": (OUTPUT, out)}, p, q[: len(p)])
    rows = [row(one, results[one][0], one is each) for one in found]
    also = " " + text("lossless", "published_menu", rules=offered) if offered else ""
    return {
        "answer": sentence + also, "rule": each.key, "rules": filled(COLUMNS, rows, "%"),
        "case": description(each), "why": reasons(each), "threads": threads_of(each),
        "output": shown(drawing, sentence),
    }  # fmt: skip


def tested(
    experiment: str,
) -> tuple[list[str], dict[CaseStudy, tuple[CaseResult, Sequence[float]]]]:
    """Return the words, and each rule's result and q, for an experiment's p and q or its own."""
    from specviz.ui.lossless.sandbox.answer import tensor
    from specviz.ui.lossless.sandbox.experiment import distribution
    from specviz.verification.published_rules import GALLERY

    given = json.loads(experiment or "null")
    if given is None:
        return NAMES, {each: (own(each), each.q) for each in GALLERY}
    p, q = distribution(given["p"], "p"), distribution(given["q"], "q")
    pair = tensor(p), tensor(q)
    names = [flat(each) for each in given["words"]]
    return names, {each: (each.result(*pair), q) for each in GALLERY}


@cache
def own(each: CaseStudy) -> CaseResult:
    """Return a rule's result for its own p and q."""
    return each.result()


def named(name: str) -> str:
    """Return the key of the rule with this title."""
    from specviz.verification.published_rules import GALLERY

    return next(each.key for each in GALLERY if each.name == name)


def matches(each: CaseStudy, searched: str) -> bool:
    """Return whether a rule's texts, lines or threads contain all words searched for."""
    threads = [part for one in (each.source, each.answered) if one for part in (one.title, one.url)]
    texts = (each.name, each.claimed, each.drawn, each.judged, each.why, each.premise, each.answer)
    whole = " ".join([*texts, each.lines, *threads]).casefold()
    return all(part in whole for part in searched.casefold().split())


def in_menu(searched: str) -> list[RuleRow]:
    """Return the rules of the sandbox's menu whose titles contain all words searched for."""
    parts = searched.casefold().split()
    found = [each for each in rules() if all(part in each["title"].casefold() for part in parts)]
    return found if parts else []


def row(each: CaseStudy, result: CaseResult, chosen: bool) -> list[tuple[str | float, str]]:
    """Return a rule's row in the list; that of the chosen one is bold."""
    sign = {"exact": "✓ exact", "lossy": "✕ lossy"}[result.verdict]
    cells: list[tuple[str | float, str]] = [
        (sign, sign), (each.name, verbatim(each.name)), (float(distance(result)), distance(result)),
    ]  # fmt: skip
    return [(value, f"**{said}**") for value, said in cells] if chosen else cells


def distance(result: CaseResult) -> str:
    """Format the distance of a rule's output from p."""
    return "0" if result.verdict == "exact" else f"{result.tv:.4f}"


def verdict(each: CaseStudy, result: CaseResult) -> str:
    """Return the sentence on a rule's output."""
    return text(
        "lossless", f"published_{result.verdict}", name=verbatim(each.name), tv=distance(result),
        tokens=each.case.length, accepted=f"{result.accepted_length:.3f}",
    )  # fmt: skip


def description(each: CaseStudy) -> str:
    """Return how a rule works, but not whether it is exact."""
    return "\n\n".join(
        [
            f"### {verbatim(each.name)}",
            f"**Guesses:** {verbatim(each.drawn)}",
            f"**Rule:** {verbatim(each.judged)}",
            f"```\n{each.lines.strip()}\n```",
        ]
    )


def reasons(each: CaseStudy) -> str:
    """Return why a rule is exact or not."""
    return f"**Premise:** {verbatim(each.premise)}\n\n**Why:** {verbatim(each.why)}"


def threads_of(each: CaseStudy) -> str:
    """Return what was claimed and answered, with links."""
    answered = each.answered or each.source
    return "\n\n".join(
        f"**{name}:** {verbatim(said)}  \n[{verbatim(thread.title)}]({thread.url})"
        for name, said, thread in (
            ("Claim", each.claimed, each.source),
            ("Answer", each.answer, answered),
        )
    )


class Quiz(TypedDict):
    """A case of "Find the fault".

    Attributes:
        offered: Rules to choose from; "" for no fault.
        choice: The chosen one; None before.
    """

    key: str
    seed: int
    offered: list[str]
    choice: str | None
    right: int
    tried: int


def build_quiz(place: TabContext) -> None:
    """Build "Find the fault"."""
    first = text("lossless", "fault_lead")
    with Instrument(place, "fault", "Find the fault", "random rounds", first) as instrument:
        quiz = gr.State()
        evidence = gr.Markdown()
        counts = figure("sv-fault-counts", "counts-of-a-rule")
        strings = gr.Markdown(elem_classes="sv-listing")
        gr.Markdown("### Which rule produced this?")
        buttons = [gr.Button(size="sm", visible=False) for _ in range(OFFERED + 1)]
        with gr.Accordion("What these rules do", open=False):
            offered = gr.Markdown()
        solution = gr.Markdown()
        another = gr.Button("Another case", size="sm")
    outputs: dict[str, Any] = {f"option {at}": button for at, button in enumerate(buttons)}
    outputs |= {"quiz": quiz, "evidence": evidence, "counts": counts, "strings": strings}
    outputs |= {"offered": offered, "solution": solution}
    instrument.wire({"quiz": quiz}, outputs, respond_quiz)
    for at, button in enumerate(buttons):
        instrument.press(button, partial(choose, at))
    instrument.press(another, lambda values: {"quiz": new_quiz(values["quiz"])})


def new_quiz(before: Quiz | None) -> Quiz:
    """Choose another rule, and some lossy ones to choose from."""
    from specviz.verification.published_rules import GALLERY

    each = random.choice([one for one in GALLERY if before is None or one.key != before["key"]])
    lossy = {one.key for one in GALLERY if own(one).verdict == "lossy"}
    fault = [each.key] if each.key in lossy else []
    others = random.sample(sorted(lossy - {each.key}), OFFERED - len(fault))
    return {
        "key": each.key, "seed": random.randrange(2**31), "choice": None,
        "offered": [*random.sample([*fault, *others], OFFERED), ""],
        "right": before["right"] if before else 0, "tried": before["tried"] if before else 0,
    }  # fmt: skip


def choose(at: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the case after one of its options was chosen."""
    quiz: Quiz = values["quiz"]
    choice, key = quiz["offered"][at], quiz["key"]
    right = quiz["right"] + (choice == (key if key in quiz["offered"] else ""))
    return {"quiz": {**quiz, "choice": choice, "tried": quiz["tried"] + 1, "right": right}}


def respond_quiz(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statistics of a case, its options, and after a choice its solution."""
    from specviz.verification.published_rules import find_case_study

    quiz: Quiz = values["quiz"] or new_quiz(None)
    each, solved = find_case_study(quiz["key"]), quiz["choice"] is not None
    options = [find_case_study(key) for key in quiz["offered"] if key]
    names = [*(one.name for one in options), SOUND]
    said, drawing, strings = evidence_of(quiz["key"], quiz["seed"])
    fault = quiz["key"] if quiz["key"] in quiz["offered"] else ""
    correct = "Correct." if quiz["choice"] == fault else "No, it was this one."
    solution = [
        f"{correct} {verdict(each, own(each))}", description(each), reasons(each),
        threads_of(each),
    ]  # fmt: skip
    score = text("lossless", "fault_score", right=quiz["right"], tried=quiz["tried"])
    return {
        "answer": score if quiz["tried"] else text("lossless", "fault_lead"),
        "quiz": quiz, "evidence": said, "counts": shown(drawing, said), "strings": strings,
        "offered": "\n\n".join(
            f"**{verbatim(one.name)}:** {verbatim(f'{one.drawn} {one.judged}')}" for one in options
        ),
        "solution": "\n\n".join(solution) if solved else "",
        **{f"option {at}": gr.update(value=name, visible=not solved)
           for at, name in enumerate(names)},
    }  # fmt: skip


@lru_cache(64)
def evidence_of(key: str, seed: int) -> tuple[str, go.Figure, str]:
    """Return statistics of a rule's rounds, without its name: a sentence, a figure, and a table."""
    from specviz.verification.exact.monte_carlo import g_test, wilson_intervals
    from specviz.verification.published_rules import find_case_study, sample_counts

    each = find_case_study(key)
    seen = sample_counts(each, THROWS, seed)
    firsts = [0] * len(each.p)
    for string, many in seen.items():
        firsts[string[0]] += round(many)
    chance = g_test(firsts, list(each.p)).p_value
    words = {"often": often(chance)} if chance >= SURE else {"odds": seldom(chance)}
    fit = text("lossless", "words_fit" if chance >= SURE else "words_do_not_fit", **words)
    intervals = [(one.low, one.high) for one in wilson_intervals(firsts)]
    shares = [many / THROWS for many in firsts]
    names, parts = NAMES[: len(each.p)], {"output": (OUTPUT, shares)}
    drawing = output_figure(names, parts, each.p, each.q, intervals)
    said = text("lossless", "evidence", rounds=THROWS, fit=fit)
    return said, drawing, unusual(each, seen) if each.case.length > 1 else ""


def unusual(each: CaseStudy, seen: Mapping[tuple[int, ...], float]) -> str:
    """Return a table of the sequences whose counts differ most from p, in standard deviations."""
    rows = []
    for string, chance in own(each).plain.items():
        expected, many = chance * THROWS, seen.get(string, 0.0)
        if expected >= 5.0:
            difference = (many - expected) / (expected * (1.0 - chance)) ** 0.5
            rows.append((difference, string, many, expected))
    rows.sort(key=lambda found: -abs(found[0]))
    return listing(
        ["sequence", "count", "expected from p", "difference"],
        [
            [
                "".join(WORDS[token] for token in string).strip(), f"{many:,.0f}",
                f"{expected:,.0f}", f"{difference:+.1f} σ".replace("-", "−"),
            ]
            for difference, string, many, expected in rows[:STRANGEST]
        ],
    )  # fmt: skip
