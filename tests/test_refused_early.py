"""Impossible runs are refused before any work, with an error of one sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tiny
from transformers import Gemma4AssistantConfig, Gemma4AssistantForCausalLM

from specviz import Turn, decode
from specviz.catalog import load_drafter, load_target
from specviz.commands.cli import main
from specviz.drafters.draft_model import DraftModel, DraftModelSession
from specviz.drafters.lookahead import Lookahead
from specviz.drafters.ngram import NGram
from specviz.drafters.suffix import Suffix
from specviz.drafters.uniform import Uniform
from specviz.engine.decode import run
from specviz.engine.loop import Decoding
from specviz.engine.protocol import BadProposal
from specviz.models.errors import BadPrompt, Unsuitable
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import CheckFailed, check
from specviz.trace.events import Proposed
from specviz.trace.file import Trace
from specviz.verification import Cut, MismatchedRule
from specviz.verification.tree import DraftTree

BLOCK = "Block verification judges chains, but this drafter proposes a tree"


def unstarted_run(target, drafter, **chosen):
    settings = Settings(Sampling(0.8), rule="block", **{"gamma": 4, **chosen})
    return Decoding(target, drafter, target.encode(tiny.PROMPT, 64), settings)


def test_block_verification_refuses_a_drafter_that_branches(tiny_target, tiny_draft):
    for drafter, chosen in (
        (Suffix(), {"siblings": [2]}),
        (Suffix(), {"siblings": [1, 3]}),
        (Lookahead(), {}),
        (Uniform(), {"siblings": [3, 2]}),
        (tiny_draft, {"siblings": [2]}),
    ):
        with pytest.raises(MismatchedRule, match=BLOCK):
            unstarted_run(tiny_target, drafter, **chosen)


@pytest.mark.slow
def test_block_verification_accepts_chains(tiny_target, tiny_draft):
    for drafter, chosen in (
        (Suffix(), {}),
        (Suffix(), {"siblings": [1, 1, 1, 1, 3]}),
        (NGram(), {"siblings": [3]}),
        (Lookahead(), {"lookahead_guesses": 1}),
        (Uniform(), {}),
        (tiny_draft, {"siblings": [1]}),
    ):
        decoding = unstarted_run(tiny_target, drafter, **chosen)
        assert len(list(decoding.rounds())) > 1
        assert decoding.ended


@pytest.mark.slow
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
def test_block_verification_refuses_heads_that_branch(name, tree, chain):
    target = load_target("house", "cpu")
    drafter = load_drafter(name, target)
    with pytest.raises(MismatchedRule, match=BLOCK):
        unstarted_run(target, drafter, **tree)
    assert unstarted_run(target, drafter, **chain).session


class Trimmed(DraftModelSession):
    """A session that omits its last guess if its q is low, and declares this unless `silent`."""

    cut = Cut.AFTER_SAMPLING
    silent = False

    def propose(self, context, max_tokens, chance):
        proposal = super().propose(context, max_tokens, chance)
        tree, last = proposal.tree, len(proposal.tree) - 1
        if proposal.q and proposal.q[tree.parents[last]][tree.tokens[last]] < 0.3:
            proposal = replace(
                proposal,
                tree=DraftTree(tree.tokens[:last], tree.parents[:last]),
                q={node: proposal.q[node] for node in proposal.q if node < last - 1},
                draws={node: proposal.draws[node] for node in range(1, last)},
                score={node: proposal.score[node] for node in range(1, last)},
            )
        return proposal if self.silent else replace(proposal, cut=self.cut)


class Trims(DraftModel):
    """A draft model that omits sampled guesses because of their q."""

    session = Trimmed

    def begin(self, target, settings):
        return self.session(self, target, settings)


class SilentTrims(Trims):
    """The same, but its proposals do not declare what its sessions declare."""

    session = type("Silent", (Trimmed,), {"silent": True})


def trims(tiny_draft, kind=Trims):
    return kind(tiny_draft.model, replace(tiny_draft.card, family="trimmed"))


def cut_run(target, drafter, rule="auto", temperature=1.1):
    settings = Settings(Sampling(temperature), max_new_tokens=24, gamma=3, rule=rule)
    header, *events = run(target, drafter, tiny.PROMPT, settings, baseline=False)
    return Trace(header, events)


def test_rule_that_reads_q_refuses_a_draft_cut_after_sampling(tiny_target, tiny_draft):
    for rule in ("speculative", "accept-reject", "k-seq", "block", "traversal"):
        with pytest.raises(MismatchedRule, match="leaves some out, so the others are not samples"):
            cut_run(tiny_target, trims(tiny_draft), rule)
    with pytest.raises(BadProposal, match="announced drafts cut after-sampling but proposed one"):
        cut_run(tiny_target, trims(tiny_draft, SilentTrims))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "temperature", "used", "lossless"),
    [
        ("auto", 1.1, "point-mass", True),
        ("auto", 0.0, "greedy", True),
        ("point-mass", 1.1, "point-mass", True),
        ("lenience:0.5", 1.1, "lenience", False),
    ],
)
def test_rule_without_q_accepts_a_draft_cut_after_sampling(
    tiny_target, tiny_draft, rule, temperature, used, lossless
):
    trace = cut_run(tiny_target, trims(tiny_draft), rule, temperature)
    assert (trace.header.rule, trace.header.lossless) == (used, lossless)
    assert {played.proposed.cut for played in trace.rounds[1:]} == {"after-sampling"}
    check(Trace.parse(trace.lines()))


@pytest.mark.slow
def test_check_detects_a_rule_or_a_drafter_that_does_not_fit_a_cut_draft(tiny_target, tiny_draft):
    """A trace whose drafts are declared as cut must use a rule without q; no other trace may."""
    whole = DraftModel(tiny_draft.model, replace(tiny_draft.card, family="another"))
    for drafter, rule, marked, says in (
        (trims(tiny_draft), "auto", None, "but 'speculative' fits"),
        (whole, "auto", "after-sampling", "not samples of q"),
        (tiny_draft, "point-mass", "after-sampling", "draft-model is not cut by its own guesses"),
    ):
        trace = cut_run(tiny_target, drafter, rule)
        forged = [
            replace(event, cut=marked) if isinstance(event, Proposed) else event
            for event in trace.events
        ]
        with pytest.raises(CheckFailed, match=says):
            check(Trace(trace.header, forged))


def test_command_line_refuses_an_impossible_run_before_the_first_round(capsys):
    asked = ["--drafter", "suffix", "--siblings", "2", "--rule", "block", "--prompt", "a b a b"]
    assert main(["run", *asked]) != 0
    printed = capsys.readouterr()
    assert BLOCK in printed.err
    assert printed.out == ""


def test_incomplete_character_in_a_prompt_is_refused(tiny_target):
    for prompt in ("once \ud83e upon", [Turn("user", "hello \udd8a")]):
        with pytest.raises(BadPrompt, match=r"half a character \(a lone surrogate\)"):
            next(decode(tiny_target, NGram(), prompt, Settings()))


def test_assistant_of_gemma_is_refused_with_the_reason(tmp_path, tiny_target):
    text = {
        "vocab_size": tiny.VOCABULARY, "hidden_size": 32, "intermediate_size": 32,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "global_head_dim": 16,
        "num_hidden_layers": 2, "num_kv_shared_layers": 2,
        "layer_types": ["sliding_attention", "full_attention"],
        "hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0,
    }  # fmt: skip
    config = Gemma4AssistantConfig(text_config=text, backbone_hidden_size=32)
    Gemma4AssistantForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(Unsuitable, match="attends to the keys and values of its target"):
        load_drafter(str(tmp_path), tiny_target)
