"""The sentence of a step in the Simple mode: who does what, in everyday words and percentages.

Its numbers are those of the Details mode as percentages, with as many digits, so that the shown
p ÷ q gives the shown probability.
"""

from __future__ import annotations

from typing import Final

from specviz.frames.caption import TESTS
from specviz.frames.memory_limit import memory_sentence
from specviz.frames.numbers import (
    NEGLIGIBLE,
    Formatted,
    format_nonzero,
    format_ratio,
    format_verdict,
    parse_number,
)
from specviz.frames.scene import Scene, Step
from specviz.frames.whatif import is_certain
from specviz.texts import NumberPart, Part, TermPart, Whose, number, say, term, word
from specviz.trace import metrics
from specviz.trace.events import Drew, Judged
from specviz.trace.file import Trace
from specviz.trace.metrics import accepted_path, explain_noise
from specviz.trace.rule_specs import RULE_SPECS, AfterRejection

BIG: Final = term("big model", "target")


def percent(text: str) -> str:
    """Convert a formatted probability to a percentage with the same digits.

    >>> percent("0.85"), percent("0.005"), percent("1"), percent("1.00"), percent("1.2×10⁻⁵")
    ('85 %', '0.5 %', '100 %', 'almost 100 %', 'almost 0 %')
    """
    value = parse_number(text)
    # Only an exact 0 or 1 has no decimals.
    if value < NEGLIGIBLE and text != "0":
        return "almost 0 %"
    if value == 1 and "." in text:
        return "almost 100 %"
    return f"{_hundredfold(text)} %"


def _hundredfold(text: str) -> str:
    digits = max(len(text.partition(".")[2]) - 2, 0)
    return f"{100 * parse_number(text):.{digits}f}"


def simple_sentence(scene: Scene, step: Step) -> list[Part]:
    """Return the sentence of a step in the Simple mode."""
    match step.kind:
        case "propose":
            return _guess(scene, step.at)
        case "score":
            return _check(scene)
        case "judge":
            return _verdict(scene, scene.round.judged[step.at])
        case "draw":
            assert scene.round.drew is not None
            return _draw(scene, scene.round.drew)
        case "commit":
            assert scene.round.committed is not None
            return say("simple", "commit", big=BIG, n=len(scene.round.committed.tokens))


def simple_end(trace: Trace) -> list[Part]:
    """Return the sentence at the end of a run; the speed-up only if its times can be trusted."""
    totals, plain = metrics.summary(trace), trace.baseline
    speedup, draft = totals["speedup"], totals["draft_seconds"]
    speed = cost = ""
    if plain is not None and speedup is not None and not explain_noise(trace, plain):
        speed = f"{speedup:.2f} × {'faster' if speedup > 1 else 'as fast'}"
        cost = f"{totals['tokens_per_pass'] / speedup:.2f}"
    return say(
        "simple",
        "end",
        big=BIG,
        tokens=totals["tokens"],
        passes=totals["target_passes"],
        plain=len(plain.seconds) if plain else 0,
        speed=speed,
        words=f"{totals['tokens_per_pass']:.2f}",
        cost=cost,
        guessing=f"{100 * draft / totals['total_seconds']:.0f} %" if draft else "",
        limit=memory_sentence(trace.header, plain),
    )


def _small(scene: Scene) -> TermPart:
    return term(scene.guesser, "draft")


def _guess(scene: Scene, depth: int) -> list[Part]:
    shown = [node for node, at in enumerate(scene.depths) if node and at <= depth]
    if not shown:
        return say("simple", "guess_nothing", small=_small(scene), big=BIG)
    dice = not scene.greedy and not scene.point_mass
    if len(shown) == 1:
        return say("simple", "guess_first", small=_small(scene), token=scene.chip(1), dice=dice)
    if len(shown) > depth:
        return say("simple", "guess_tree", small=_small(scene), n=len(shown))
    return say("simple", "guess_ahead", small=_small(scene), n=len(shown), dice=dice)


def _check(scene: Scene) -> list[Part]:
    if scene.guesses:
        return say("simple", "check", big=BIG, n=len(scene.guesses))
    first = scene.round.number == 0
    return say("simple", "check_prompt" if first else "check_nothing", big=BIG)


def _verdict(scene: Scene, judged: Judged) -> list[Part]:
    token, accepted = scene.chip(judged.node), judged.accepted
    if scene.greedy and accepted == (judged.inputs["p"] >= 1.0) and not scene.leaf_first:
        return say("simple", "judge_zero", big=BIG, token=token, accepted=accepted)
    if scene.greedy:
        return say("simple", "judge_other_sure", token=token, accepted=accepted)
    if scene.leaf_first or scene.header.rule in TESTS:
        chance = _percent(scene, judged, "threshold", "both")
        return say("simple", "judge_other", token=token, chance=chance, accepted=accepted)
    return _over_q(scene, judged) if "q" in judged.inputs else _without_q(scene, judged)


def _over_q(scene: Scene, judged: Judged) -> list[Part]:
    shared = {
        "token": scene.chip(judged.node),
        "p": _percent(scene, judged, "p", "p"),
        "q": _percent(scene, judged, "q", "q"),
        "so": _consequence(scene, judged),
    }
    if scene.uses_p_remainder(judged):
        return say("simple", "judge_sibling", tokens=scene.rejected_chips(judged), **shared)
    macro = "judge_at_least" if judged.threshold == 1.0 else "judge_ratio"
    return say("simple", macro, small=_small(scene), big=BIG, **shared)


def _consequence(scene: Scene, judged: Judged) -> list[Part]:
    if is_certain(judged):
        return say("simple", "so_certain", accepted=judged.accepted)
    return say(
        "simple",
        "so_kept",
        chance=_percent(scene, judged, "threshold", "both"),
        accepted=judged.accepted,
        **_counts(scene, judged),
    )


def _without_q(scene: Scene, judged: Judged) -> list[Part]:
    given = {
        "big": BIG,
        "token": scene.chip(judged.node),
        "p": _percent(scene, judged, "p", "p"),
        "accepted": judged.accepted,
    }
    if not scene.point_mass:  # the rule does not use q
        chance = _percent(scene, judged, "threshold", "p")
        token = given["token"]
        return say("simple", "judge_other", token=token, chance=chance, accepted=judged.accepted)
    if scene.uses_p_remainder(judged):
        rejected = scene.rejected_chips(judged)
        return say("simple", "judge_fixed_sibling", tokens=rejected, **given)
    return say("simple", "judge_fixed", **given)


def _percent(scene: Scene, judged: Judged, name: str, whose: Whose) -> NumberPart:
    return number(percent(_formatted(scene, judged).text[name]), whose)


def _formatted(scene: Scene, judged: Judged) -> Formatted:
    # q − p as shown is right: it is what is discarded of the guess.
    spec = RULE_SPECS.get(scene.header.rule)
    apart = scene.after_rejection is AfterRejection.RESIDUAL and judged.threshold < 1
    if apart and "q" in judged.inputs and spec and spec.has_alpha and not spec.leaf_first:
        p, q = judged.inputs["p"], judged.inputs["q"]
        return format_ratio(p, q, judged.threshold, judged.u, subtracts=True)
    return format_verdict(scene, judged)


def _counts(scene: Scene, judged: Judged) -> dict[str, Part | str]:
    # Empty if a number is not shown exactly enough; without `spare` where the token does not come
    # out as often as p, or has too many digits to count.
    texts = _formatted(scene, judged).text
    tiny = min(judged.inputs["p"], judged.inputs["q"]) < NEGLIGIBLE
    if tiny or parse_number(texts["threshold"]) == 1:
        return {"kept": "", "of": "", "spare": ""}
    p, q = (_hundredfold(texts[name]) for name in "pq")
    decimals = max(len(text.partition(".")[2]) for text in (p, q))
    exact = scene.header.lossless and not scene.uses_p_remainder(judged) and decimals <= 1
    spare = f"{float(q) - float(p):.{decimals}f}" if exact else ""
    return {"kept": number(p, "p"), "of": number(q, "q"), "spare": spare}


def _draw(scene: Scene, drew: Drew) -> list[Part]:
    token = word(scene.word(drew.token))
    match drew.kind:
        case "recovered":
            return _recovered(scene, drew, token)
        case "bonus":
            kept = len(accepted_path(scene.round))
            return say("simple", "bonus", big=BIG, n=len(scene.guesses), kept=kept, token=token)
        case _:
            return say("simple", "plain", big=BIG, token=token)


def _recovered(scene: Scene, drew: Drew, token: Part) -> list[Part]:
    if scene.greedy:
        macro = "recovered_zero" if scene.header.lossless else "recovered_other"
        return say("simple", macro, big=BIG, token=token)
    if scene.after_rejection is not AfterRejection.RESIDUAL:
        return say("simple", "recovered_other", big=BIG, token=token)
    last, lossless = scene.last_rejected, scene.header.lossless
    if last.rows.share < 1.0 or (last.rows.q is None and scene.rejected_before(last)):
        return say("simple", "recovered_missing", token=token, lossless=lossless)
    mass = number(percent(format_nonzero(last.rows.residual)), "residual")
    if last.rows.q is None:
        return say("simple", "recovered_fixed", big=BIG, mass=mass, token=token, lossless=lossless)
    return say("simple", "recovered", mass=mass, token=token, lossless=lossless)
