"""Made-up runs for tests: real rules and random numbers on an invented vocabulary, no model.

Never shipped as a recorded run. `made(...)` decodes a few rounds and writes what an engine would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from specviz.settings.chance import Chance, random_u
from specviz.trace.chat import Chat, Piece, Turn
from specviz.trace.events import (
    Baseline,
    Committed,
    Drew,
    Event,
    Finished,
    Guess,
    Header,
    Interval,
    Judged,
    ModelCard,
    Proposed,
    Rows,
    Scored,
    Vocabulary,
)
from specviz.trace.file import Trace
from specviz.trace.rule_specs import point_mass_threshold, speculative_threshold

ODD = [
    b"<script>window.hacked=1</script>",
    b" <img src=x onerror=window.hacked=1>",
    b"\n",
    b"    ",
    "🦊".encode(),
    "🦊".encode()[:2],
    b"\xff",
    b"`",
    b"${window.hacked=1}",
    b"{{value}}",
    b"</s>",
    b" &amp;",
    b"<br>",
    "\u202e".encode(),
    b"\\",
    b"'\"",
]
PLAIN = [
    "the", "a", "cat", "dog", "fox", "bird", "was", "is", "saw", "went", "met", "and", "to",
    "house", ",", ".", "big", "little", "red", "ran", "home", "she", "he", "one", "day", "very",
    "kind", "wood", "tree",
]  # fmt: skip
WORDS: list[bytes] = [*(b" " + w.encode() if w[0].isalpha() else w.encode() for w in PLAIN), *ODD]
SIZE = len(WORDS)
LISTED = 8
SIGN = WORDS.index(b"</s>")  # the only special token of made-up conversations
TYPED = " dog was kind\n\n and little<br>"


def ids(*words: bytes) -> list[int]:
    """Return the token ids of these words."""
    return [WORDS.index(word) for word in words]


BREAK = b"\n"
KIND = ids(b" dog", b" was", b" kind", BREAK, BREAK, b" and", b" little", b"<br>")
SPOKEN: list[tuple[Piece, list[int]]] = [
    (Piece("special", "</s>", 1), [SIGN]),
    (Piece("template", " the bird and", 3), ids(b" the", b" bird", b" and")),
    (Piece("special", "</s>", 1, 0), [SIGN]),
    (Piece("template", " one\n", 2, 0), ids(b" one", BREAK)),
    (Piece("typed", TYPED, 8, 0), KIND),
    (Piece("special", "</s>", 1, 0), [SIGN]),
    (Piece("special", "</s>", 1, 1), [SIGN]),
    (Piece("template", " she\n", 2, 1), ids(b" she", BREAK)),
]

Law = list[float]
SIBLINGS = {False: "sampled", True: "without-replacement"}


@dataclass
class Recipe:
    """What kind of run to make up. shape: children by depth; (1, 1, 1) is a chain of three.

    bushy: every guess has children, not only the first of its siblings. replaced: siblings are
    drawn without replacement. chat: the prompt is a conversation, and the target may end it.
    """

    shape: Sequence[int] = (1, 1, 1, 1, 1)
    point_mass: bool = False
    greedy: bool = False
    rounds: int = 8
    seed: int = 1
    drafts: bool = True
    odd: bool = True
    bushy: bool = False
    replaced: bool = False
    chat: bool = False

    @property
    def asked(self) -> Chat | None:
        """Return the conversation that is the prompt, if there is one."""
        return chat() if self.chat else None

    @property
    def prompt_ids(self) -> list[int]:
        """Return the token ids of the prompt."""
        return [token for _, own in SPOKEN for token in own] if self.chat else [0, 1]


@dataclass
class Making:
    """A run in progress: its text and events so far."""

    recipe: Recipe
    events: list[Event] = field(default_factory=list)
    text: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.recipe.prompt_ids

    def soft(self, context: Sequence[int], who: str) -> Law:
        """Return a distribution from a hash of the context; both models share most of it."""
        key = hash(tuple(context[-3:])) % 2**31
        shared = [3.2 * random_u(key, token, "shared", 0) for token in range(SIZE)]
        own = [2.4 * random_u(key, token, who, 1) for token in range(SIZE)]
        usual = [(0.0 if self.recipe.odd or t < len(PLAIN) else -20.0) for t in range(SIZE)]
        usual[SIGN] = 0.0 if self.recipe.chat and who == "target" else usual[SIGN]
        weights = [math.exp(1.6 * (a + b) + c) for a, b, c in zip(shared, own, usual, strict=True)]
        return scaled(weights)

    def p(self, context: Sequence[int]) -> Law:
        """Return the target's distribution; one-hot at temperature 0."""
        law = self.soft(context, "target")
        return one_hot(law.index(max(law))) if self.recipe.greedy else law


def chat() -> Chat:
    """Return a conversation of one turn with the template's text before, around and after it."""
    return Chat([Turn("user", TYPED)], [piece for piece, _ in SPOKEN])


def scaled(weights: Sequence[float]) -> Law:
    total = sum(weights)
    return [w / total for w in weights]


def one_hot(token: int) -> Law:
    return [1.0 if t == token else 0.0 for t in range(SIZE)]


def residual(p: Law, q: Law) -> Law:
    return [max(a - b, 0.0) for a, b in zip(p, q, strict=True)]


def without(law: Law, token: int) -> Law:
    return scaled([0.0 if t == token else mass for t, mass in enumerate(law)])


def draw(law: Law, u: float) -> tuple[int, Interval]:
    """Sample by inverse CDF over tokens of descending probability, ties by id."""
    lo = 0.0
    order = sorted(range(SIZE), key=lambda t: (-law[t], t))
    for token in order:
        if lo <= u < lo + law[token]:
            return token, Interval(u, lo, lo + law[token])
        lo += law[token]
    last = [t for t in order if law[t] > 0][-1]
    return last, Interval(u, lo - law[last], lo)


def rows(p: Law, q: Law, has_q: bool, soft: Law | None, token: int) -> Rows:
    """Return the listed tokens and the exact mass of all others."""
    above = residual(p, q)
    key = soft or p
    tops = [sorted(range(SIZE), key=lambda t: -law[t])[:LISTED] for law in (p, q, above, key)]
    listed = sorted({token, *chain(*tops)}, key=lambda t: (-key[t], -q[t], t))
    rest = [t for t in range(SIZE) if t not in listed]
    both = [min(a, b) for a, b in zip(p, q, strict=True)]
    return Rows(
        tokens=listed,
        p=[p[t] for t in listed],
        q=[q[t] for t in listed] if has_q else None,
        soft=[soft[t] for t in listed] if soft else None,
        rest_tokens=len(rest),
        rest_p=sum(p[t] for t in rest),
        rest_q=sum(q[t] for t in rest),
        rest_both=sum(both[t] for t in rest),
        rest_residual=sum(above[t] for t in rest),
        rest_soft=sum(soft[t] for t in rest) if soft else 0.0,
        overlap=sum(both),
        residual=sum(above),
    )


def top(law: Law) -> list[list[float]]:
    best = sorted(range(SIZE), key=lambda t: -law[t])[:3]
    return [[t, law[t]] for t in best if law[t] > 0]


def propose(run: Making, chance: Chance) -> list[Guess]:
    """Draft a tree of the recipe's shape; candidates are sampled from q or are its top tokens."""
    guesses: list[Guess] = []
    level: list[tuple[int, list[int]]] = [(0, run.text)]
    for width in run.recipe.shape if run.recipe.drafts else ():
        below = []
        for parent, context in level:
            q = run.soft(context, "draft")
            best = sorted(range(SIZE), key=lambda t: -q[t])
            for place in range(width):
                node = len(guesses) + 1
                token, drawn = draw(q, chance.draft(node))
                if run.recipe.point_mass or run.recipe.greedy:
                    token = best[place]
                    guesses.append(
                        Guess(token, parent, chance.judge(node), None, None, q[token], None)
                    )
                else:
                    guesses.append(
                        Guess(token, parent, chance.judge(node), q[token], drawn, q[token], None)
                    )
                    q = without(q, token) if run.recipe.replaced else q
                below.append((node, [*context, token]))
        level = below if width == 1 or run.recipe.bushy else below[:1]
    return guesses


def context_of(run: Making, guesses: Sequence[Guess], node: int) -> list[int]:
    path: list[int] = []
    while node:
        path.append(guesses[node - 1].token)
        node = guesses[node - 1].parent
    return [*run.text, *reversed(path)]


def play(run: Making, number: int) -> None:
    """Play one round, judged from the root, sibling by sibling."""
    chance = Chance(run.recipe.seed, number)
    guesses = propose(run, chance) if number else []
    fixed = run.recipe.point_mass or run.recipe.greedy
    if number:
        drawn = "point-mass" if fixed else SIBLINGS[run.recipe.replaced]
        run.events.append(Proposed(number, run.text[-1], drawn, guesses, None, 0.004))
    laws = [run.p(context_of(run, guesses, node)) for node in range(len(guesses) + 1)]
    scores = [laws[g.parent][g.token] for g in guesses]
    soft = [run.soft(context_of(run, guesses, g.parent), "target")[g.token] for g in guesses]
    kept = soft if run.recipe.greedy else None
    tops = [top(law) for law in laws]
    run.events.append(Scored(number, scores, tops, len(laws), 0.021, kept))
    node, law, kept, last = 0, laws[0], [], None
    while True:
        children = [n for n, g in enumerate(guesses, 1) if g.parent == node]
        took, law, last = judge(run, number, guesses, children, laws[node])
        if took is None:
            break
        node = took
        kept.append(guesses[took - 1].token)
    token, interval = draw(law, chance.final())
    kind = "recovered" if last else "bonus" if kept else "plain"
    run.events.append(drew(run, number, node, token, kind, interval, law, last))
    run.events.append(Committed(number, [*kept, token], 0.001, 0.0005))
    run.text += [*kept, token]


def judge(
    run: Making, number: int, guesses: Sequence[Guess], children: Sequence[int], law: Law
) -> tuple[int | None, Law, tuple[Law, Law | None] | None]:
    """Judge the children in turn: accepted child, residual of p, (p, q) of the last rejection."""
    parent = [guesses[n - 1].parent for n in children]
    context = context_of(run, guesses, parent[0]) if parent else run.text
    soft = run.soft(context, "target") if run.recipe.greedy else None
    last = None
    taken = run.soft(context, "draft")
    for node in children:
        guess = guesses[node - 1]
        fixed = guess.q is None
        q = one_hot(guess.token) if fixed else taken
        if run.recipe.replaced:
            taken = without(taken, guess.token)
        inputs = {"p": law[guess.token]} if fixed else {"p": law[guess.token], "q": q[guess.token]}
        threshold = point_mass_threshold(inputs) if fixed else speculative_threshold(inputs)
        shown = rows(law, q, not fixed, soft, guess.token)
        alpha = shown.overlap if node == children[0] else None
        run.events.append(Judged(number, node, guess.u, threshold, inputs, shown, alpha))
        if guess.u < threshold:
            return node, law, None
        last = (law, None if fixed else q)
        law = scaled(residual(law, q))
    return None, law, last


def drew(
    run: Making,
    number: int,
    parent: int,
    token: int,
    kind: str,
    interval: Interval,
    law: Law,
    last: tuple[Law, Law | None] | None,
) -> Drew:
    order = sorted(range(SIZE), key=lambda t: (-law[t], t))[:12]
    listed = sorted({token, *(t for t in order if law[t] > 0)}, key=lambda t: (-law[t], t))
    soft = run.soft(run.text, "target") if run.recipe.greedy else None
    return Drew(
        round=number,
        parent=parent,
        token=token,
        kind=kind,  # type: ignore[arg-type]
        drawn=interval,
        tokens=listed,
        p=[law[t] for t in listed],
        soft=[soft[t] for t in listed] if soft else None,
        rest_p=sum(law[t] for t in range(SIZE) if t not in listed),
        rest_tokens=SIZE - len(listed),
        at_p=last[0][token] if last else None,
        at_q=last[1][token] if last and last[1] else None,
    )


def rule_of(recipe: Recipe) -> str:
    if recipe.greedy or recipe.point_mass:
        return "greedy" if recipe.greedy else "point-mass"
    return "without-replacement" if recipe.replaced else "speculative"


def made(recipe: Recipe | None = None) -> Trace:
    """Return a complete made-up run with its baseline."""
    recipe = recipe or Recipe()
    run = Making(recipe)
    run.events.append(Vocabulary({str(i): w.decode("latin-1") for i, w in enumerate(WORDS)}))
    for number in range(recipe.rounds + 1):
        if not recipe.chat or run.text[-1] != SIGN:
            play(run, number)
    run.events.append(Finished("eos" if run.text[-1] == SIGN else "limit", 0.01))
    made_tokens = len(run.text) - len(recipe.prompt_ids)
    margins = [2.0] * made_tokens if recipe.greedy else None
    run.events.append(Baseline(run.text[-made_tokens:], [0.018] * made_tokens, margins))
    settings = {
        "sampling": {"temperature": 0 if recipe.greedy else 0.8, "top_k": 0, "top_p": 1.0},
        "seed": recipe.seed,
        "max_new_tokens": made_tokens,
        "gamma": len(recipe.shape),
    }
    header = Header(
        target=ModelCard("made-up target", "made-up", 0, 0, None),
        drafter=ModelCard("made-up drafter", "made-up", 0, 0, None),
        settings=settings,
        rule=rule_of(recipe),
        lossless=True,
        prompt=TYPED if recipe.chat else "Once upon a time",
        prompt_ids=recipe.prompt_ids,
        vocab_size=SIZE,
        eos=[SIGN] if recipe.chat else [],
        device="none",
        machine="made up",
        dtype="float64",
        threads=1,
        versions={},
        chat=recipe.asked,
    )
    return Trace(header, run.events)


# Runs that the browser tests record, by name, in the order of the page.
RUNS = {
    "01-chain": Recipe(odd=False, seed=3),
    "02-siblings": Recipe(shape=(3, 2, 2, 1), odd=False),
    "03-point-mass": Recipe(point_mass=True),
    "04-temperature-0": Recipe(greedy=True, odd=False),
    "05-odd-tokens": Recipe(rounds=30),
    "06-long-chain": Recipe(shape=(1,) * 12, odd=False, rounds=20),
    "07-wide": Recipe(shape=(4, 2, 2, 2), odd=False, bushy=True),  # 60 guesses a round
    "08-chat": Recipe(odd=False, chat=True, seed=22),
}
