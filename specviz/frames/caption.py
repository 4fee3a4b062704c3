"""Caption of a step: a badge, and a sentence that says what happens and why.

The sentence of a verdict has p, q, the probability of acceptance, and u. Its numbers are rounded,
but its statements are true for the exact numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp
from typing import Any, Final, Literal, NotRequired, TypedDict

from specviz.frames.draw import draw_sentence
from specviz.frames.evidence import guess_sentence, is_random_pick, no_guess
from specviz.frames.leaf_first import (
    accepted_with,
    compare_with_root_first,
    judged_by_residual,
    leaf_verdict,
)
from specviz.frames.numbers import (
    NEGLIGIBLE,
    Format,
    format_nonzero,
    format_seconds,
    format_verdict,
    parse_number,
    round_for_text,
    shortest_format,
)
from specviz.frames.scene import Scene, Step, StepKind, TokenState
from specviz.frames.whatif import is_certain
from specviz.texts import NumberPart, Part, number, say, term
from specviz.trace.events import Judged
from specviz.trace.metrics import accepted_path
from specviz.trace.rule_specs import fly_own_threshold

Badge = TokenState | StepKind | Literal["ask", "end"]
# A badge (its kind and its text) and a sentence; "simple" is that of the Simple mode, which a
# question does not have.
Caption = TypedDict(
    "Caption",
    {"is": Badge, "label": str, "parts": list[Part], "simple": NotRequired[list[Part]]},
)


def caption(scene: Scene, step: Step) -> Caption:
    """Return the caption of a step."""
    match step.kind:
        case "propose":
            return _caption("propose", _propose(scene, step.at))
        case "score":
            return _caption("score", _score(scene))
        case "judge":
            judged = scene.round.judged[step.at]
            state: Badge = "accepted" if judged.accepted else "rejected"
            return _caption(state, verdict(scene, judged))
        case "draw":
            assert scene.round.drew is not None
            return _caption(scene.round.drew.kind, draw_sentence(scene, scene.round.drew))
        case "commit":
            return _caption("commit", _commit(scene))


def _caption(state: Badge, parts: list[Part]) -> Caption:
    return {"is": state, "label": state.capitalize(), "parts": parts}


def _propose(scene: Scene, depth: int) -> list[Part]:
    nodes = [n for n, d in enumerate(scene.depths) if n and d == depth]
    if not nodes:
        return say("step", "propose_nothing", reason=_why_nothing(scene))
    if len(nodes) == 1:
        return _propose_one(scene, nodes[0])
    tokens = [scene.chip(node) for node in nodes]
    guesses = {(guess.token, guess.parent) for guess in (scene.guesses[n - 1] for n in nodes)}
    again = len({token for token, _ in guesses}) < len(guesses)
    repeated = len(guesses) < len(nodes)  # siblings that were sampled independently
    facts = {
        "n": len(nodes),
        "depth": depth,
        "tokens": tokens,
        "again": again,
        "repeated": repeated,
    }
    return say("step", "propose_several", **facts)


def _why_nothing(scene: Scene) -> list[Part]:
    # Empty if neither the text nor the drafter gives a reason.
    if scene.tokens_left == 1:
        return say("step", "propose_last_token")
    return no_guess(scene)


def _propose_one(scene: Scene, node: int) -> list[Part]:
    guess, token, depth = scene.guesses[node - 1], scene.chip(node), scene.depths[node]
    if guess.q is not None:
        q = number(round_for_text(guess.q), "q")
        return say("step", "propose_sampled", token=token, depth=depth, q=q)
    if sentence := guess_sentence(scene, node):
        return sentence
    if guess.score is not None:
        own = round_for_text(guess.score)
        return say("step", "propose_top", token=token, depth=depth, own=own)
    return say("step", "propose_fixed", token=token, depth=depth)


def _score(scene: Scene) -> list[Part]:
    assert scene.round.scored is not None
    time = format_seconds(scene.round.scored.seconds)
    n = len(scene.round.scored.p)
    if not n:
        first = scene.round.number == 0
        return say("step", "score_prompt" if first else "score_nothing", time=time)
    if n == 1:
        return say("step", "score_one", time=time, greedy=scene.greedy)
    order = say("step", _order(scene, n))
    return say("step", "score_several", time=time, n=n, greedy=scene.greedy, order=order)


def _order(scene: Scene, n: int) -> str:
    is_chain = max(scene.depths) == n
    if scene.leaf_first:
        return "order_leaf_chain" if is_chain else "order_leaf_tree"
    if is_chain:
        return "order_chain"
    return "order_siblings" if max(scene.depths) == 1 else "order_tree"


def _commit(scene: Scene) -> list[Part]:
    committed, drew = scene.round.committed, scene.round.drew
    assert committed is not None
    tokens = len(committed.tokens)
    # A round can end early, at the token limit or at the end of the text.
    accepted = min(len(accepted_path(scene.round)), tokens)
    kinds = [f"{accepted} accepted"] if scene.guesses else []
    if drew and tokens > accepted:
        kinds.append("nothing was drafted" if drew.kind == "plain" else f"1 {drew.kind}")
    parts = " + ".join(kinds)
    return say("step", "commit", round=str(scene.round.number), tokens=tokens, parts=parts)


ROUNDING: Final = 1e-5  # relative tolerance of p, or of 1 − p, between two float32 passes


def verdict(scene: Scene, judged: Judged) -> list[Part]:
    """Return the sentence of a verdict."""
    token = scene.chip(judged.node)
    if scene.leaf_first and (scene.greedy or not _is_plain_ratio(scene, judged)):
        coin = [] if scene.greedy else _coin(scene, judged)
        return _joined(leaf_verdict(scene, judged), coin, compare_with_root_first(scene, judged))
    is_top = scene.greedy and judged.accepted == (judged.inputs["p"] >= 1.0)
    if not is_top and scene.header.rule in TESTS:
        return _own_test(scene, judged)
    if scene.greedy:
        return say("step", "judge_zero", token=token, accepted=judged.accepted)
    sentence = _over_q(scene, judged) if "q" in judged.inputs else _without_q(scene, judged)
    return (
        _joined(sentence, compare_with_root_first(scene, judged)) if scene.leaf_first else sentence
    )


def _joined(*sentences: list[Part]) -> list[Part]:
    parts: list[Part] = []
    for sentence in filter(None, sentences):
        parts += [" ", *sentence] if parts else sentence
    return parts


def _is_plain_ratio(scene: Scene, judged: Judged) -> bool:
    # Leaf-first rules, too, may judge a guess by p ÷ q.
    return judged.rows.share == 1.0 and not judged_by_residual(scene, judged)


def _source(scene: Scene, judged: Judged) -> list[Part]:
    if not scene.uses_p_remainder(judged):
        return say("step", "the_target")
    return say("step", "after_rejected", tokens=scene.rejected_chips(judged))


def _over_q(scene: Scene, judged: Judged) -> list[Part]:
    p = "p′" if scene.uses_p_remainder(judged) else "p"
    q = "q′" if scene.uses_q_remainder(judged) else "q"
    return say(
        "step",
        "judge_ratio",
        source=_source(scene, judged),
        token=scene.chip(judged.node),
        p=number(round_for_text(judged.inputs["p"], _texts(scene, judged)["p"]), "p"),
        drafter_gave=_drafter_gave(scene, judged),
        ratio=term(f"{p} ÷ {q}", "threshold"),
        sure=f"{p} ≥ {q}" if judged.threshold == 1.0 else "",
        chance=_chance(scene, judged),
        coin=_coin(scene, judged),
    )


def _drafter_gave(scene: Scene, judged: Judged) -> list[Part]:
    p, q, chance = judged.inputs["p"], judged.inputs["q"], judged.threshold
    source = say("step", "remainder_of_q" if scene.uses_q_remainder(judged) else "the_drafter")
    if is_same(p, q):
        return say("step", "drafter_gave_same", source=source, exact=p == q)
    if 0 < p < NEGLIGIBLE <= chance < 1:  # too small to divide: only the ratio is shown
        times = number(round_for_text(chance), "both")
        return say("step", "ratio_of_tiny", source=source, times=times)
    texts = _texts(scene, judged)
    given = round_for_text(q, texts["q"])
    if given == round_for_text(p, texts["p"]):
        near_one = texts["p"].startswith("1")
        how = "less" if q < p else "more" if p >= NEGLIGIBLE else "far more"
        how = f"slightly {how}" if near_one else how
        return say("step", "drafter_gave_more_or_less", source=source, how=how)
    return say("step", "drafter_gave", source=source, q=number(given, "q"), only=q < p / 2)


def _texts(scene: Scene, judged: Judged) -> dict[str, str]:
    # If q is equal to p, p is shown with fewer digits.
    texts = dict(format_verdict(scene, judged).text)
    if "q" in judged.inputs and is_same(judged.inputs["p"], judged.inputs["q"]):
        texts["p"] = format_nonzero(judged.inputs["p"])
    return texts


def is_same(p: float, q: float) -> bool:
    """Return whether p and q are equal up to float32 rounding."""
    return p == q or abs(p - q) <= ROUNDING * min(p, q, 1 - p, 1 - q)


def _without_q(scene: Scene, judged: Judged) -> list[Part]:
    later = scene.uses_p_remainder(judged)
    return say(
        "step",
        "judge_without_q",
        reason=_why_no_q_again(scene, judged) if later else _why_no_q(scene, judged),
        p="p′" if later else "p",
        chance=_chance(scene, judged),
        coin=_coin(scene, judged),
    )


def _why_no_q(scene: Scene, judged: Judged) -> list[Part]:
    token = scene.chip(judged.node)
    if not scene.point_mass:
        return say("step", "rule_ignores_q", token=token)
    which = "chosen_in_advance" if is_random_pick(scene) else "not_sampled"
    return say("step", which, drafter=scene.drafter_title, token=token)


def _why_no_q_again(scene: Scene, judged: Judged) -> list[Part]:
    # For all siblings but the first.
    how = "advance" if is_random_pick(scene) else "fixed" if scene.point_mass else ""
    rejected = scene.rejected_chips(judged)
    token = scene.chip(judged.node)
    return say("step", "after_rejected_without_q", tokens=rejected, token=token, how=how)


def _chance(scene: Scene, judged: Judged) -> NumberPart:
    # With all digits if u is near 0 or 1: "about 0" would not show on which side u is.
    text = format_verdict(scene, judged).text["threshold"]
    near = not NEGLIGIBLE <= judged.u <= 1 - NEGLIGIBLE
    shown = text if near else round_for_text(judged.threshold, text)
    return number(shown, "both" if "q" in judged.inputs else "p")


def _coin(scene: Scene, judged: Judged) -> list[Part]:
    chance = _chance(scene, judged)
    is_set = scene.coin_is_set(judged.node)
    return say(
        "step",
        "coin",
        u=number(format_verdict(scene, judged).text["u"], "u"),
        accepted=judged.accepted,
        bar="that" if chance["n"].startswith("about") else chance,
        set=is_set,
        stuck=is_set and is_certain(judged),
        kept_with=accepted_with(scene, judged),
    )


def _own_test(scene: Scene, judged: Judged) -> list[Part]:
    # For a rule whose probability is neither p ÷ q nor p.
    rule, texts, inputs = scene.header.rule, format_verdict(scene, judged).text, judged.inputs
    p = _format_apart(inputs)(inputs["p"]) if rule == "typical" else texts["p"]
    q = number(round_for_text(inputs["q"], texts["q"]), "q") if "q" in inputs else ""
    given: dict[str, Any] = {
        "source": _source(scene, judged),
        "token": scene.chip(judged.node),
        "p": number(round_for_text(inputs["p"], p), "p"),
        "q": q,
        "test": TESTS[rule](inputs),
    }
    if rule in WITHOUT_COIN:
        return say("step", "judge_by_test_without_coin", accepted=judged.accepted, **given)
    chance = number(round_for_text(judged.threshold, texts["threshold"]), "both")
    coin = [] if scene.greedy else _coin(scene, judged)
    return say("step", "judge_by_test", chance=chance, coin=coin, **given)


def _typical_bar(inputs: Mapping[str, float]) -> float:
    return min(inputs["epsilon"], inputs["delta"] * exp(-inputs["entropy"]))


def _format_apart(inputs: Mapping[str, float]) -> Format:
    # The shortest format in which p is visibly above or below the threshold.
    p, bar = inputs["p"], _typical_bar(inputs)

    def fits(form: Format) -> bool:
        one, other = parse_number(form(p)), parse_number(form(bar))
        return (one > other) == (p > bar) and (one != other or p == bar)

    return shortest_format(fits)[1]


def _typical(inputs: Mapping[str, float]) -> list[Part]:
    bar = _typical_bar(inputs)
    delta = f"{inputs['delta']:g}" if bar < inputs["epsilon"] else ""
    return say("step", "test_typical", bar=_format_apart(inputs)(bar), delta=delta)


def _relaxed(inputs: Mapping[str, float]) -> list[Part]:
    among, rank = f"{inputs['among']:g}", f"{inputs['rank']:g}"
    margin, top = f"{inputs['margin']:g}", f"{inputs['top']:.2f}"
    gap = format_nonzero(inputs["top"] - inputs["p"]) if inputs["top"] > inputs["p"] else "0"
    return say("step", "test_relaxed", among=among, margin=margin, top=top, rank=rank, gap=gap)


def _thresholds(inputs: Mapping[str, float]) -> list[Part]:
    single, together = f"{inputs['single']:g}", f"{inputs['together']:g}"
    return say("step", "test_thresholds", single=single, together=together)


def _ensemble(inputs: Mapping[str, float]) -> list[Part]:
    weight, other = f"{inputs['weight']:g}", f"{1 - inputs['weight']:.3g}"
    return say("step", "test_ensemble", weight=weight, other=other)


def _fly(inputs: Mapping[str, float]) -> list[Part]:
    unsure = inputs["top_entropy"] >= inputs["limit"]
    return say(
        "step",
        "test_fly",
        own=format_nonzero(fly_own_threshold(inputs)),
        entropy=f"{inputs['top_entropy']:.2f}",
        limit=f"{inputs['limit']:g}",
        following=f"{inputs['following']:g}",
        window=int(inputs["window"]),
        unsure=unsure,
        overruled=unsure and inputs["following"] >= inputs["window"],
    )


WITHOUT_COIN: Final = frozenset({"typical", "relaxed", "unverified"})
TESTS: Final[Mapping[str, Callable[[Mapping[str, float]], list[Part]]]] = {
    "accept-reject": lambda inputs: say(
        "step", "test_accept_reject", least=format_nonzero(inputs["least"])
    ),
    "k-seq": lambda inputs: say("step", "test_k_seq", rho=f"{inputs['rho']:.3g}"),
    "lenience": lambda inputs: say("step", "test_lenience", lenience=f"{inputs['lenience']:g}"),
    "ensemble": _ensemble,
    "typical": _typical,
    "relaxed": _relaxed,
    "thresholds": _thresholds,
    "fly": _fly,
    "unverified": lambda _: say("step", "test_unverified"),
}
