"""DSpark: corrections of a block, predicted acceptance, exact cuts, training and public files."""

from __future__ import annotations

import json
from dataclasses import replace

import dflash_made
import headed
import published
import pytest
import tiny
import torch
from driven import GONE, check_places, check_refused, deep_target, driven, session_after, turns
from once import once
from safetensors.torch import save_file
from test_engine import traced

from specviz import engine
from specviz.bench.outcomes import calibration_error, pool_reliability, sum_tallies, tally_rounds
from specviz.catalog.loading import load_drafter
from specviz.drafters.dspark import DSpark, training
from specviz.drafters.dspark.head import DSparkConfig, DSparkHead
from specviz.engine.loop import rounds
from specviz.models.errors import Unsuitable
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.trace.check import check
from specviz.verification import Drawn

pytestmark = pytest.mark.slow

GREEDY = Settings(Sampling(0), gamma=9, max_new_tokens=40)
WARM = Settings(Sampling(1.1, top_k=12, top_p=0.97), gamma=9, max_new_tokens=24)
KINDS = ["vanilla", "gated", "rnn"]
SIZE = 5  # guesses of a block


def config(target=None, **changes):
    """Return the house config with smaller blocks, and two taps of a three-layer target."""
    usual = DSparkConfig.house(target or headed.target())
    taps = usual.target_layer_ids if target else (0, 1)
    small = replace(usual, block_size=SIZE, target_layer_ids=taps, markov_rank=6)
    return replace(small, **changes)


def random_head(target=None, **changes):
    """Return a head with large random weights and norms, so that every part matters."""
    torch.manual_seed(8)
    head = DSparkHead(config(target, **changes)).eval().requires_grad_(False)
    torch.nn.init.normal_(head.markov_head.markov_w2.weight)
    for weight in head.parameters():
        if weight.dim() == 1:
            weight.copy_(torch.rand_like(weight) + 0.5)
    return tiny.blurred(head, 0.2)


@once
def trained():
    """Return the head that most tests use."""
    return dflash_made.fitted(lambda: DSparkHead(config()), training.loss, 90)


def drafter(head=None):
    """Return the drafter with the learned head, or with the given one."""
    head = head or trained()
    return DSpark(head, tiny.card(head, "tiny-dspark", "dspark"))


def corrections(head, rows, tokens):
    """Return the Markov head's corrections (n, V) by the formulas of DeepSpec's module."""
    weights = {k.removeprefix("markov_head."): v for k, v in head.state_dict().items()}
    state, found = torch.zeros(head.config.markov_rank), []
    for row, token in zip(rows, tokens, strict=False):
        mixed = embedded = weights["markov_w1.weight"][token]
        if head.config.markov_head_type == "gated":
            both = torch.cat([row, embedded])
            gate = weights["gate_proj.weight"] @ both + weights["gate_proj.bias"]
            mixed = gate.sigmoid() * embedded
        if head.config.markov_head_type == "rnn":
            both = torch.cat([state, embedded, row])
            joint = weights["joint_proj.weight"] @ both + weights["joint_proj.bias"]
            gate, candidate, out = joint.split(head.config.markov_rank)
            state = gate.sigmoid() * state + (1 - gate.sigmoid()) * candidate.tanh()
            mixed = out.tanh()
        found.append(weights["markov_w2.weight"] @ mixed)
    return torch.stack(found)


@torch.inference_mode()
def block_outputs(head, target, text):
    """Return the outputs (SIZE, h) of a block after `text`, by transformers' DFlash network."""
    shape = head.config
    whole = target.model(torch.tensor([text[:-1]]), output_hidden_states=True).hidden_states
    states = torch.cat([whole[k + 1] for k in shape.target_layer_ids], dim=-1)
    block = torch.tensor([[text[-1], *[shape.mask_token_id] * (SIZE - 1)]])
    words = target.model.get_input_embeddings()(block)
    plain = dflash_made.DFlashHead(replace(dflash_made.config(target), block_size=SIZE))
    plain.load_state_dict({key: head.state_dict()[key] for key in plain.state_dict()})
    return dflash_made.transformers_network(plain)(words, states).last_hidden_state[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("settings", [GREEDY, WARM], ids=["greedy", "warm"])
def test_guesses_are_sampled_from_the_corrected_block(kind, settings):
    """Compare with transformers' network and DeepSpec's formulas, over a growing cache."""
    target = deep_target()
    head = random_head(target, markov_head_type=kind)
    for text, proposal in driven(target, drafter(head), settings):
        tokens = list(proposal.tree.tokens)
        guesses = len(tokens) - 1
        assert proposal.tree.parents == tuple(range(-1, guesses))
        assert guesses == SIZE or tokens[-1] in target.eos
        rows = block_outputs(head, target, text)[:guesses]
        base = target.model.lm_head(rows)
        soft = (base + corrections(head, rows, tokens)).softmax(-1)
        assert not torch.allclose(soft, base.softmax(-1), atol=0.01)
        for node, token in enumerate(tokens[1:], start=1):
            evidence = proposal.evidence[node]
            assert proposal.score[node] == pytest.approx(soft[node - 1, token].item(), abs=1e-4)
            laws = [base[node - 1].softmax(-1), soft[node - 1]]
            check_places([evidence["base"], evidence["top"]], laws)
            read = torch.cat([rows[node - 1], head.markov_head.markov_w1.weight[tokens[node - 1]]])
            confidence = head.confidence_head.proj(read).sigmoid().item()
            assert evidence["confidence"] == pytest.approx(confidence, abs=1e-4)
        if settings is GREEDY:
            assert tokens[1:] == soft.argmax(-1).tolist()
            assert proposal.drawn is Drawn.POINT_MASS
            assert not proposal.q
        else:
            assert proposal.drawn is Drawn.SAMPLED
            for node, q in proposal.q.items():
                warm = (soft[node].log() / settings.sampling.temperature).softmax(-1)
                expected = torch.where(q > 0, warm, 0.0)
                assert torch.allclose(q, (expected / expected.sum()).to(q), atol=1e-4)


def test_draft_cut_by_confidence_is_a_prefix_of_the_uncut_draft():
    """Only earlier predictions decide whether a guess is drawn; they do not change the guess."""
    least, cuts, made = 0.4, 0, drafter()
    cautious = replace(WARM, confidence=least)
    seen = turns(headed.target(), made, cautious, headed.PROMPTS[0])
    for number, (text, turn) in enumerate(seen, 1):
        tokens, evidence = list(turn.proposal.tree.tokens[1:]), turn.proposal.evidence
        session = session_after(text, made, WARM, headed.target())
        whole = session.propose(text, 1 + SIZE, Chance(WARM.seed, number))
        assert tokens == list(whole.tree.tokens[1 : 1 + len(tokens)])
        survival = 1.0
        for node in range(1, len(whole.tree)):
            survival *= whole.evidence[node]["confidence"]
            if survival < least:
                assert len(tokens) <= node - 1
                if "cut" in evidence[0]:  # else the token limit of the run came first
                    assert len(tokens) == node - 1
                    assert evidence[0]["cut"] == pytest.approx(survival, abs=1e-4)
                    cuts += 1
                break
    assert cuts > 5


@pytest.mark.parametrize("kind", KINDS)
def test_training_logits_equal_those_of_a_session(kind):
    head, target = random_head(markov_head_type=kind), headed.target()
    text = target.encode("The cat saw the dog and", 4)
    outputs = headed.read_target_outputs(target.model, torch.tensor([text]))
    anchor = len(text) - SIZE - 1
    with torch.inference_mode():
        logits, confidence = training.blocks(head, outputs, torch.tensor([anchor]))
        before = text[: anchor + 1]
        rows = session_after(before, drafter(head), GREEDY, target).reader.block(before)
    expected = target.model.lm_head(rows) + corrections(head, rows, text[anchor:])
    assert torch.allclose(logits[0, 0], expected, atol=1e-4)
    assert confidence.shape == (1, 1, SIZE)


def test_confidence_loss_has_no_gradient_outside_the_confidence_head():
    head = random_head().train().requires_grad_(True)
    outputs = headed.outputs(1)
    _, confidence = training.blocks(head, outputs, torch.tensor([3, 9]))
    confidence.sum().backward()
    with_gradient = {name for name, weight in head.named_parameters() if weight.grad is not None}
    assert with_gradient == {"confidence_head.proj.weight", "confidence_head.proj.bias"}


# Predicted and observed acceptance


def test_reliability_table_counts_every_judged_guess_by_its_confidence():
    text = headed.target().encode(headed.PROMPTS[0], WARM.max_new_tokens)
    played = list(rounds(headed.target(), drafter(), list(text), WARM))
    counted = tally_rounds(played)
    judged = [
        (turn.proposal.evidence[decision.node]["confidence"], decision.accepted)
        for turn in played
        for decision in turn.verdict.decisions
    ]
    assert sum(count for count, _, _ in counted.reliability) == len(judged) > 20
    for count, mean, kept in counted.reliability:
        mine = [pair for pair in judged if int(pair[0] * 10) == int(mean * 10)]
        assert count == len(mine)
        assert mean == pytest.approx(sum(predicted for predicted, _ in mine) / count)
        assert kept == sum(accepted for _, accepted in mine) / count
    assert sum_tallies([counted, counted]).reliability == [
        [2 * count, pytest.approx(mean), kept] for count, mean, kept in counted.reliability
    ]


def test_calibration_error_is_the_mean_gap_over_all_guesses():
    one, other = [[30.0, 0.25, 0.5], [10.0, 0.95, 0.9]], [[10.0, 0.2, 0.0]]
    assert calibration_error(one) == pytest.approx((30 * 0.25 + 10 * 0.05) / 40)
    pooled = pool_reliability([one, other])
    assert pooled == [[40.0, pytest.approx(0.2375), 0.375], [10.0, 0.95, 0.9]]


# Traces


def test_check_accepts_the_trace_and_detects_forged_cuts():
    settings = replace(WARM, confidence=0.4, max_new_tokens=40)
    trace = traced(headed.target(), drafter(), headed.PROMPTS[0], settings)
    cut = next(e for e in trace.events if (getattr(e, "remark", None) or {}).get("cut"))
    without_cut = {key: value for key, value in cut.remark.items() if key != "cut"}
    changes = [
        ({"remark": {**cut.remark, "cut": 0.7}}, "was cut at a predicted survival of 0.7"),
        ({"remark": {**cut.remark, "cut": None}}, "was cut at a predicted survival of None"),
        ({"remark": without_cut}, "guesses do not fill the 5 positions"),
    ]
    check_refused(trace, cut, changes)


# Public files

DEEPSPEC = {
    **published.LLAMA, "architectures": ["Qwen3DSparkModel"], "model_type": "qwen3",
    "block_size": 7, "attention_bias": False, "head_dim": published.SIZE,
    "layer_types": ["full_attention"] * 2, "num_hidden_layers": 2, "num_anchors": 512,
    "num_target_layers": published.LAYERS, "rope_theta": 1000000, "mask_token_id": 3,
    "target_layer_ids": [1, 4], "markov_rank": 4, "markov_head_type": "gated",
    "enable_confidence_head": True, "confidence_head_with_markov": True,
}  # fmt: skip


def public_tensors(config):
    """Return the tensors of DeepSpec's layout, its own embeddings and output head among them."""
    wide, tokens, rank = config["hidden_size"], config["vocab_size"], config["markov_rank"]
    torch.manual_seed(7)
    made = {
        "embed_tokens.weight": torch.randn(tokens, wide),
        "lm_head.weight": torch.randn(tokens, wide),
        "markov_head.markov_w1.weight": torch.randn(tokens, rank),
        "markov_head.markov_w2.weight": torch.randn(tokens, rank),
        "markov_head.gate_proj.weight": torch.randn(rank, wide + rank),
        "markov_head.gate_proj.bias": torch.randn(rank),
        "confidence_head.proj.weight": torch.randn(1, wide + rank),
        "confidence_head.proj.bias": torch.randn(1),
    }
    return published.dflash_tensors() | made


def write(folder, config=DEEPSPEC, like=None, tensors=None):
    """Write a folder with the tensors of a DeepSpec config: `like`, or the config itself."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    found = public_tensors(like or config) | (tensors or {})
    kept = {name: value for name, value in found.items() if value is not GONE}
    save_file(kept, folder / "model.safetensors")
    return folder


def test_every_tensor_of_a_deepspec_file_is_used(tmp_path):
    made = load_drafter(str(write(tmp_path / "a")), published.target())
    tensors = public_tensors(DEEPSPEC)
    state = made.head.state_dict()
    assert state.keys() == tensors.keys()
    assert all(torch.equal(state[key], value) for key, value in tensors.items())
    settings = Settings(Sampling(1.0), gamma=7, max_new_tokens=12)
    check(traced(published.target(), made, tiny.PROMPT, settings))


OUTER = ("mask_token_id", "block_size", "markov_rank", "markov_head_type",
         "enable_confidence_head", "confidence_head_with_markov")  # fmt: skip
SPECULATORS = {name: DEEPSPEC[name] for name in OUTER} | {
    "architectures": ["DSparkSpeculator"], "speculators_model_type": "dspark",
    "draft_vocab_size": DEEPSPEC["vocab_size"], "sample_from_anchor": True,
    "aux_hidden_state_layer_ids": [2, 5],
    "transformer_layer_config": {k: v for k, v in DEEPSPEC.items() if k not in OUTER}
    | {"target_layer_ids": None, "num_target_layers": 0},
}  # fmt: skip


def test_file_in_speculators_format_loads_as_the_same_head(tmp_path):
    wide_target = published.target()
    ours = load_drafter(str(write(tmp_path / "a")), wide_target).head
    theirs = load_drafter(str(write(tmp_path / "b", SPECULATORS, like=DEEPSPEC)), wide_target).head
    assert theirs.config.tap_layers == ours.config.tap_layers == (2, 5)
    assert theirs.config.block_size == 7
    assert all(torch.equal(theirs.state_dict()[key], w) for key, w in ours.state_dict().items())


REFUSED = [
    (SPECULATORS | {"sample_from_anchor": False}, {}, "guesses nothing at the anchor"),
    (SPECULATORS | {"draft_vocab_size": 10}, {}, "has a smaller vocabulary"),
    (SPECULATORS | {"aux_hidden_state_layer_ids": None}, {}, "layer_ids are not layer numbers"),
    (SPECULATORS | {"transformer_layer_config": 3}, {}, "transformer_layer_config is not a JSON"),
    (DEEPSPEC, {"lm_head.weight": GONE}, r"lm_head\.weight"),
    (DEEPSPEC, {"markov_head.gate_proj.bias": GONE}, r"markov_head\.gate_proj\.bias"),
    (DEEPSPEC, {"confidence_head.proj.bias": GONE}, r"confidence_head\.proj\.bias"),
    (DEEPSPEC, {"markov_head.markov_w3.weight": torch.zeros(2)}, r"markov_head\.markov_w3\.weight"),
    (DEEPSPEC | {"architectures": ["Gemma4DSparkModel"]}, {}, "is a Gemma4DSparkModel; only Qwen3"),
    (DEEPSPEC | {"use_swa": True, "sliding_window": 4}, {}, "sliding window"),
    (DEEPSPEC | {"dflash_config": {"use_swa": True}}, {}, "sliding window"),
    (DEEPSPEC | {"is_causal": True}, {}, "sets is_causal to True"),
    (DEEPSPEC | {"dflash_config": {"projector_type": "domino"}}, {}, "projector_type to 'domino'"),
    (DEEPSPEC | {"shift_label": True}, {}, "sets shift_label in its config.json"),
    (DEEPSPEC | {"markov_head_type": "attention"}, {}, "Markov head of the type 'attention'"),
]


@pytest.mark.parametrize("config", [DEEPSPEC, SPECULATORS], ids=["deepspec", "speculators"])
def test_text_may_contain_tokens_beyond_the_head_own_embeddings(config, tmp_path):
    tokens = published.TOKENS
    model = tiny.llama(
        vocab_size=tokens + 3, num_hidden_layers=published.LAYERS, hidden_size=published.WIDE
    )
    wide = tiny.target(model)
    wide.eos, ids = (), [3, tokens + 2, 5, tokens, tokens + 1]
    drafter = load_drafter(str(write(tmp_path / "a", config, like=DEEPSPEC)), wide)
    settings = Settings(Sampling(0), gamma=5, max_new_tokens=8)
    played = list(engine.rounds(wide, drafter, ids, settings))
    text = [token for each in played for token in each.tokens]
    assert text == [step.token for step in engine.plain(wide, ids, settings)]


@pytest.mark.parametrize(("config", "tensors", "problem"), REFUSED)
def test_file_that_is_not_supported_is_refused(tmp_path, config, tensors, problem):
    folder = write(tmp_path / "a", config, tensors=tensors, like=DEEPSPEC)
    with pytest.raises(Unsuitable, match=problem):
        load_drafter(str(folder), published.target())
