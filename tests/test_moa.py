"""Mixture of Attentions: the head computes the same in drafting and in training.

The memory of all layers does not change while a draft is built.
"""

from __future__ import annotations

from dataclasses import replace

import headed
import pytest
import tiny
import torch
from moa_made import (
    GREEDY,
    TEXT,
    WARM,
    drafter,
    learnt,
    outputs,
    plain_logits,
    start_session,
    turns,
    wild,
)

from specviz.drafters.common.training import EVERY, read_target_outputs
from specviz.drafters.moa import head as training
from specviz.drafters.moa.head import MoaHead

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("settings", [GREEDY, WARM])
def test_logits_of_each_node_equal_the_formula_of_the_paper_for_its_path(settings):
    """Queries see their ancestors and the whole text, memory up to the newest token's predictor."""
    target, head, seen, depths = headed.target(), wild(headed.target()), 0, set()
    for text, turn in list(turns(replace(settings, max_new_tokens=5), head))[:3]:
        tree = turn.proposal.tree
        for node, kids in enumerate(tree.children):
            if not kids:
                continue
            path = [tree.tokens[n] for n in tree.path(node)[1:]]
            soft = plain_logits(head, target, text, path).softmax(-1)
            tokens = [tree.tokens[kid] for kid in kids]
            assert tokens == soft.topk(len(kids)).indices.tolist()
            for kid, token in zip(kids, tokens, strict=True):
                assert turn.proposal.score[kid] == pytest.approx(soft[token].item(), abs=1e-4)
            seen += 1
            depths.add(tree.depths[node])
    assert seen > 6
    assert max(depths) > 1


def test_loss_and_session_read_the_same_memory_and_tokens():
    """At depth k, row t has the memory up to t and tokens up to t + k, as in a session."""
    target, head = headed.target(), wild(headed.target())
    ids = headed.windows(7, length=10, rows=2)
    said = training.guesses(head, read_target_outputs(target.model, ids, (EVERY,)))
    assert len(said) == training.STEPS
    for depth, guessed in enumerate(said, start=1):
        assert guessed.shape == (2, 10 - depth, tiny.VOCABULARY)
        for row in (0, 2, 9 - depth):
            text = ids[1, : row + 2].tolist()
            path = ids[1, row + 2 : row + 1 + depth].tolist()
            session = start_session(text, GREEDY, head)
            session.reader.context = text
            logits = session.reader.read_text(len(text))
            for i in range(len(path)):
                parents = [-1, *range(len(path))]
                logits = session.reader.read_level([i + 1], [text[-1], *path], parents)
            torch.testing.assert_close(guessed[1, row], logits[0], atol=1e-4, rtol=1e-4)


def test_siblings_do_not_attend_to_each_other():
    head, text = wild(headed.target()), headed.target().encode(TEXT, 9)
    session = start_session(text, GREEDY, head)
    session.reader.context = text
    session.reader.read_text(len(text))
    both = session.reader.read_level([1, 2], [text[-1], 5, 9], [-1, 0, 0])
    deeper = session.reader.read_level([3, 4], [text[-1], 5, 9, 7, 7], [-1, 0, 0, 1, 2])
    for row, (first, second) in enumerate([(5, 7), (9, 7)]):
        other = start_session(text, GREEDY, head)
        other.reader.context = text
        other.reader.read_text(len(text))
        one = other.reader.read_level([1], [text[-1], first], [-1, 0])
        two = other.reader.read_level([2], [text[-1], first, second], [-1, 0, 1])
        torch.testing.assert_close(one[0], both[row], atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(two[0], deeper[row], atol=1e-4, rtol=1e-4)
    assert not torch.allclose(deeper[0], deeper[1], atol=1e-2)


def test_drafting_adds_no_rows_to_the_memory_of_the_moa_head(monkeypatch):
    head, asked, memory = learnt()[0], [], MoaHead.memory
    monkeypatch.setattr(
        MoaHead, "memory", lambda head, rows: asked.append(rows.shape[:3]) or memory(head, rows)
    )
    seen = list(turns(GREEDY, head))
    assert len(asked) == len(seen)
    for text, turn in seen:
        assert turn.proposal.evidence[0]["memory"] == len(text) - 1
        assert turn.proposal.evidence[0]["layers"] == headed.LAYERS
        deepest = max(turn.proposal.tree.depths)
        assert deepest <= turn.proposal.evidence[0]["passes"] <= GREEDY.gamma
    fresh = [turn.verdict for _, turn in seen]
    new = [rows for _, rows, layers in asked if layers == headed.LAYERS]
    assert new == [len(seen[0][0]) - 1, *(len(v.path) + 1 for v in fresh[:-1])]


def test_head_reads_all_target_layers_in_order():
    target, head = headed.target(), wild(headed.target())
    found = outputs(0)
    assert list(found.keys_values) == [1, 2, 3]
    whole = training.guesses(head, found, 1)[0]
    for layer in range(1, headed.LAYERS + 1):
        rows = dict(found.keys_values)
        rows[layer] = (rows[layer][0], rows[layer][1] + 1)
        assert not torch.allclose(
            training.guesses(head, replace(found, keys_values=rows), 1)[0], whole, atol=1e-3
        )
    one, *others = (found.keys_values[k] for k in (3, 2, 1))
    swapped = replace(found, keys_values={1: one, 2: others[0], 3: others[1]})
    assert not torch.allclose(training.guesses(head, swapped, 1)[0], whole, atol=1e-3)
    assert drafter(head).capture.keys_values == tuple(
        range(1, target.model.config.num_hidden_layers + 1)
    )
