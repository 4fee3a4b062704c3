"""Evidence of drafters that read a tree level by level, or a chain guess by guess."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from specviz.trace.check.checked_round import Draft
from specviz.trace.check.evidence.rules import (
    EvidenceRules,
    evidence_of,
    expect_constant,
    expect_entries,
    expect_work,
    keys,
    read_count,
)
from specviz.trace.check.expectations import TOLERANCE, expect, expect_close
from specviz.trace.work import Work


def check_draft_model(draft: Draft) -> None:
    """Check the rows that a draft model read, and what it records about another vocabulary."""
    form = draft.remark.get("form")
    if form == "rewritten":
        check_rewritten(draft)
    elif form == "intersection":
        check_intersection(draft)
    else:
        check_model_work(draft)


def check_model_work(draft: Draft) -> None:
    """Check that a model read the new tokens, if not cached, and every node above the deepest."""
    if not draft.guesses:
        expect_work(draft, Work(), exact=draft.in_order)
        return
    nodes, kept = draft.read_above(draft.deepest), 0
    before = draft.before
    if before is not None:
        kept = sum(before.depths[node - 1] < before.deepest for node in draft.accepted)
    rows = draft.new_tokens - kept if draft.in_order else 1
    expect_work(draft, Work(rows + nodes - 1, nodes), exact=draft.in_order)


def check_intersection(draft: Draft) -> None:
    """Check the sizes of both vocabularies, and that every node was read."""
    where, remark, size = draft.where, draft.remark, draft.header.vocab_size
    expect_entries(remark, {"vocabulary": size}, where)
    shared, text = read_count(remark, "shared", where), read_count(remark, "own_tokens", where)
    expect(0 < shared <= size, where, f"{shared} of {size} tokens cannot be shared")
    expect_constant(draft, "shared", shared)
    expect(bool(text) or not draft.guesses, where, "it has guesses after a text of 0 tokens")
    if draft.guesses:
        nodes = draft.read_above(draft.deepest)
        check_own_work(draft, nodes, nodes - 1 + text)


def check_rewritten(draft: Draft) -> None:
    """Check the tokens that a draft model wrote, one pass each, and their bytes."""
    where, written = draft.where, draft.remark["written"]
    text = read_count(draft.remark, "own_tokens", where)
    plain = isinstance(written, list) and all(isinstance(each, str) for each in written)
    expect(plain, where, "its written tokens are not a list of texts")
    count = len(written)
    expect(count <= draft.depth, where, f"it wrote {count} tokens, more than allowed")
    expect(bool(text) or not count, where, "it wrote tokens after a text of 0 tokens")
    expect(bool(count) or not draft.guesses, where, "it has guesses, but nothing was written")
    check_own_work(draft, count, count * (text + count))


def check_own_work(draft: Draft, passes: int, most: int) -> None:
    """Check the rows of a draft model with other tokens, whose number in the text can change.

    Args:
        draft: The draft.
        passes: The number of nodes that it read, each of which has at least one row.
        most: The largest possible number of rows.
    """
    work, exact = draft.proposed.work, draft.in_order
    if work is None:
        return
    rows = work.body if passes <= work.body <= most or not exact else passes
    expect_work(draft, Work(rows, passes), exact)


def check_oracle(draft: Draft) -> None:
    """Check that the target was run once per level."""
    if draft.guesses:
        expect_entries(draft.remark, {"passes": draft.deepest}, draft.where)
    check_model_work(draft)


def check_eagle(draft: Draft) -> None:
    """Check each guess's rank and predicted features, and one pass per level."""
    passes = draft.deepest
    for node, (guess, depth) in enumerate(zip(draft.guesses, draft.depths, strict=True), 1):
        rank = draft.siblings(node).index(node)
        expected = {"rank": rank, "guessed_features": depth - 1}
        expect_entries(evidence_of(guess), expected, draft.node(node))
    found = read_count(draft.remark, "passes", draft.where)
    same = found == passes or (not draft.in_order and found > passes)
    expect(same, draft.where, f"its passes are {found} but should be {passes}")
    if draft.guesses:
        new, nodes = draft.new_states, len(draft.parents)
        rows = new + nodes - 1 if draft.in_order else nodes
        entry = new if draft.in_order else 0
        expect_work(draft, Work(rows, nodes, entry), exact=draft.in_order)


def check_dynamic(draft: Draft) -> None:
    """Check the numbers of a dynamic tree: guesses weighed and kept, passes, paths and places."""
    where, remark, settings = draft.where, draft.remark, draft.settings
    weighed, passes = (read_count(remark, name, where) for name in ("weighed", "passes"))
    total = len(draft.guesses)
    expected = min(settings.budget, weighed)
    expect(total == expected, where, f"it has {total} guesses but should have {expected}")
    same = remark["kept"] == total
    expect(same, where, "its remark gives another number of guesses")
    least = draft.deepest
    ends = [guess.token in draft.eos for guess in draft.guesses]
    open_ = [depth for depth, end in zip(draft.depths, ends, strict=True) if not end]
    ended = passes == draft.depth or passes not in open_  # the deepest level is not expanded
    possible = least <= passes <= draft.depth and ended
    expect(possible, where, f"{passes} passes cannot give this tree")
    check_weighed(draft)
    if not total:
        expect(passes == 0, where, "it has passes but no guesses")
        return
    vocabulary = remark.get("draft_vocabulary", draft.header.vocab_size)
    check_expanded(draft, weighed, passes, min(settings.fan_out, vocabulary))


def check_expanded(draft: Draft, weighed: int, passes: int, width: int) -> None:
    """Check how many nodes were expanded: one per guess of every expanded level, `width` each."""
    where, work = draft.where, draft.proposed.work
    if work is None:
        return
    nodes = work.head
    fits = len(draft.parents) <= nodes and passes <= nodes <= 1 + (passes - 1) * width
    expect(fits, where, f"{passes} passes cannot expand {nodes} nodes")
    every = weighed == nodes * width if draft.in_order else weighed <= nodes * width
    expect(every, where, f"{nodes} expanded nodes cannot give {weighed} guesses to weigh")
    memory = draft.header.drafter.family == "moa"
    new = draft.new_tokens if memory else draft.new_states
    expect_work(draft, Work(new + nodes - 1, nodes, draft.new_states))


def check_weighed(draft: Draft) -> None:
    """Check each guess's path probability, and its place by that probability."""
    reached, places = [1.0], []
    for node, guess in enumerate(draft.guesses, 1):
        here, evidence = draft.node(node), evidence_of(guess)
        reached.append(reached[guess.parent] * (1.0 if guess.score is None else guess.score))
        expect_close(evidence["path"], reached[node], here, "the probability of its path")
        places.append((read_count(evidence, "place", here), -evidence["path"]))
    ordered = sorted(places)
    falling = all(one <= other + TOLERANCE for (_, one), (_, other) in pairwise(ordered))
    distinct = [place for place, _ in ordered] == list(range(1, len(ordered) + 1))
    problem = "the places do not match the paths' probabilities"
    expect(falling and distinct, draft.where, problem)


def check_eagle3(draft: Draft) -> None:
    """Check a dynamic tree, the layers that the head reads, and its own vocabulary."""
    for name in ("tap_layers", "draft_vocabulary"):
        expect_constant(draft, name, draft.remark[name])
    size = read_count(draft.remark, "draft_vocabulary", draft.where)
    fits = 0 < size <= draft.header.vocab_size
    expect(fits, draft.where, f"its draft_vocabulary of {size} tokens is not possible")
    layers = draft.remark["tap_layers"]
    rising = isinstance(layers, list) and all(type(each) is int and each >= 0 for each in layers)
    expect(rising, draft.where, f"its tap_layers are {layers!r:.80}")
    check_dynamic(draft)


def check_moa(draft: Draft) -> None:
    """Check a dynamic tree, and the memory of all tokens but the newest."""
    expect_constant(draft, "layers", read_count(draft.remark, "layers", draft.where))
    expect_entries(draft.remark, {"memory": draft.length - 1}, draft.where)
    check_dynamic(draft)


def check_mtp(draft: Draft) -> None:
    """Check which module made each guess, and the rows that the modules read.

    A module's first step in a round reads all rows that it has not read with verified tokens; when
    it is applied again, it reads one more row.
    """
    count, steps = read_count(draft.remark, "modules", draft.where), len(draft.guesses)
    expect_constant(draft, "modules", count)
    expect(count > 0, draft.where, "it has no modules")
    state = draft.length - 2
    for node, guess in enumerate(draft.guesses, 1):
        expected = {"module": min(node, count), "state": state, "own": node - 1}
        expect_entries(evidence_of(guess), expected, draft.node(node))
    memory, newest = draft.memory, draft.length - 1
    first = min(steps, count)
    rows = (newest - memory.known) * first + steps - first
    exact = draft.in_order
    expect_work(draft, Work(rows if exact else steps, steps), exact)
    if steps >= count:
        memory.known = max(memory.known, newest - count + 1)


def check_layerskip(draft: Draft) -> None:
    """Check the exit, the passes, and which layers agree with each guess and verified token."""
    where, remark = draft.where, draft.remark
    exit_layer, layers = draft.settings.exit_layer, read_count(remark, "layers", where)
    expect_constant(draft, "layers", layers)
    expect(0 < exit_layer < layers, where, f"layer {exit_layer} of {layers} is no early exit")
    passes = draft.deepest
    ran = exit_layer if passes else 0
    expect_entries(remark, {"exit": exit_layer, "ran": ran}, where)
    found = read_count(remark, "passes", where)
    expect(found == passes, where, f"its passes are {found} but should be {passes}")
    for node, (guess, depth) in enumerate(zip(draft.guesses, draft.depths, strict=True), 1):
        here, evidence = draft.node(node), evidence_of(guess)
        ran = exit_layer if depth < passes else 0
        expect_entries(evidence, {"exit": exit_layer, "ran": ran}, here)
        check_layers(evidence["agree"], exit_layer, here)
    check_verified(draft, layers)
    if passes:
        head = draft.read_above(passes)
        expect_work(draft, Work(head=head), exact=draft.in_order)


def check_layers(found: object, most: int, where: str) -> None:
    """Check that a list contains rising numbers of layers."""
    whole = isinstance(found, list) and all(type(n) is int and 1 <= n <= most for n in found)
    rising = whole and isinstance(found, list) and found == sorted(set(found))
    expect(rising, where, f"its layers are {found!r:.80}, of {most}")


def check_verified(draft: Draft, layers: int) -> None:
    """Check the layers that predict the verified tokens of the round before."""
    found, where, before = draft.remark["before"], draft.where, draft.before
    if before is None:
        expect(not found, where, "there is no round before whose tokens were verified")
        return
    tokens, path = draft.text[before.length :], [0]
    for token in tokens:  # the last token may also be that of a rejected guess
        under = before.children(path[-1])
        same = [node for node in under if before.guesses[node - 1].token == token]
        if not same:
            break
        path.append(same[0])
    nodes = [node for at in path[: len(tokens)] for node in before.children(at)]
    verified = found["verified"]
    expected = [str(node) for node in nodes]
    expect(
        list(verified) == expected,
        where,
        f"its verified nodes are {list(verified)!r:.80} but should be {nodes!r}",
    )
    for each in verified.values():
        check_layers(each, layers, where)
    guessed = len(path) > len(tokens)
    fits = (found["final"] is None) == guessed
    expect(fits, where, "the layers of its last verified token are given twice or not at all")
    if not guessed:
        check_layers(found["final"], layers, where)


DYNAMIC_KEYS: Final = "weighed kept passes"
NO_EVIDENCE: Final = keys()
TREE_RULES: Final[Mapping[str, EvidenceRules]] = {
    "draft-model": EvidenceRules(
        {
            None: NO_EVIDENCE,
            "rewritten": keys("own_tokens written"),
            "intersection": keys("own_tokens shared vocabulary"),
        },
        check_draft_model,
    ),
    "oracle": EvidenceRules({None: NO_EVIDENCE, "upper-bound": keys("passes")}, check_oracle),
    "eagle": EvidenceRules({"features": keys("passes", each="rank guessed_features")}, check_eagle),
    "eagle2": EvidenceRules({"dynamic": keys(DYNAMIC_KEYS, each="path place")}, check_dynamic),
    "eagle3": EvidenceRules(
        {"dynamic": keys(f"{DYNAMIC_KEYS} tap_layers draft_vocabulary", each="path place")},
        check_eagle3,
    ),
    "moa": EvidenceRules(
        {"dynamic": keys(f"{DYNAMIC_KEYS} layers memory", each="path place")}, check_moa
    ),
    "mtp": EvidenceRules({"modules": keys("modules", each="module state own")}, check_mtp),
    "layerskip": EvidenceRules(
        {"layers": keys("exit layers ran passes before", each="exit ran agree")}, check_layerskip
    ),
}
