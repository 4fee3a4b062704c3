"""Impossible runs are refused before any work, with one sentence."""

from __future__ import annotations

import pytest
import tiny
from transformers import FalconConfig, FalconForCausalLM

from specviz import Turn, decode, load
from specviz.catalog import load_drafter, load_target
from specviz.commands.cli import main
from specviz.drafters.lookahead import Lookahead
from specviz.drafters.ngram import NGram
from specviz.drafters.suffix import Suffix
from specviz.drafters.uniform import Uniform
from specviz.engine.loop import Decoding
from specviz.models.errors import BadPrompt, Unsuitable
from specviz.settings.settings import Sampling, Settings
from specviz.verification import MismatchedRule

BLOCK = "Block verification judges chains, but this drafter proposes a tree"


def unstarted_run(target, drafter, **chosen):
    """Return a run under block verification that has not started."""
    settings = Settings(Sampling(0.8), rule="block", **{"gamma": 4, **chosen})
    return Decoding(target, drafter, target.encode(tiny.PROMPT, 64), settings)


@pytest.mark.parametrize(
    ("drafter", "chosen"),
    [
        (Suffix, {"siblings": [2]}),
        (Suffix, {"siblings": [1, 3]}),
        (Lookahead, {}),
        (Uniform, {"siblings": [3, 2]}),
    ],
)
def test_block_verification_refuses_a_drafter_that_branches(tiny_target, drafter, chosen):
    with pytest.raises(MismatchedRule, match=BLOCK):
        unstarted_run(tiny_target, drafter(), **chosen)


@pytest.mark.parametrize(
    ("drafter", "chosen"),
    [
        (Suffix, {}),
        (Suffix, {"siblings": [1, 1, 1, 1, 3]}),
        (NGram, {"siblings": [3]}),
        (Lookahead, {"lookahead_guesses": 1}),
        (Uniform, {}),
    ],
)
def test_block_verification_of_a_chain_completes_the_run(tiny_target, drafter, chosen):
    decoding = unstarted_run(tiny_target, drafter(), **chosen)
    assert len(list(decoding.rounds())) > 1
    assert decoding.ended


def test_block_verification_refuses_a_draft_model_that_branches(tiny_target, tiny_draft):
    with pytest.raises(MismatchedRule, match=BLOCK):
        unstarted_run(tiny_target, tiny_draft, siblings=[2])
    assert unstarted_run(tiny_target, tiny_draft, siblings=[1]).session


@pytest.mark.parametrize(
    ("name", "tree", "chain"),
    [
        ("eagle", {"siblings": [2]}, {}),
        ("eagle2", {}, {"fan_out": 1}),
        ("eagle3", {}, {"budget": 1}),
        ("medusa", {"siblings": [2]}, {"rank_paths": [[0], [0, 0]]}),
        ("lmtp", {"rank_paths": [[0], [1]]}, {"siblings": [1]}),
        ("layerskip", {"siblings": [1, 2]}, {}),
    ],
)
def test_heads_that_branch_are_refused(name, tree, chain):
    target = load_target("house", "cpu")
    drafter = load_drafter(name, target)
    with pytest.raises(MismatchedRule, match=BLOCK):
        unstarted_run(target, drafter, **tree)
    assert unstarted_run(target, drafter, **chain).session


def test_command_line_refuses_branching_before_the_first_round(capsys):
    asked = ["--drafter", "suffix", "--siblings", "2", "--rule", "block", "--prompt", "a b a b"]
    assert main(["run", *asked]) != 0
    printed = capsys.readouterr()
    assert BLOCK in printed.err
    assert printed.out == ""


def test_incomplete_character_in_a_prompt_is_refused(tiny_target):
    for prompt in ("once \ud83e upon", [Turn("user", "hello \udd8a")]):
        with pytest.raises(BadPrompt, match=r"half a character \(a lone surrogate\)"):
            next(decode(tiny_target, NGram(), prompt, Settings()))


def test_network_with_alibi_is_refused_with_the_reason(tmp_path):
    config = FalconConfig(
        vocab_size=tiny.VOCABULARY,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        alibi=True,
    )
    tiny.save(FalconForCausalLM(config), tmp_path)
    with pytest.raises(Unsuitable, match=r"biases attention by distance \(ALiBi\)"):
        load(str(tmp_path), "ngram", "cpu")
