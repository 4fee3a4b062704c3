"""PARD: one pass for all guesses, independent draws, exact output, training and its files."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace

import headed
import pytest
import tiny
import torch
from driven import TEXT, check_places, driven
from once import once
from windowed import qwen2

from specviz.catalog import load_drafter
from specviz.drafters.common.checkpoint import layout_in
from specviz.drafters.pard import Pard, PardModel, training
from specviz.models.errors import Unsuitable
from specviz.settings.chance import Chance
from specviz.settings.settings import Sampling, Settings
from specviz.verification import Drawn
from specviz.verification.distributions import logits_to_probs

pytestmark = pytest.mark.slow

MASK = 188  # the byte 0xFF in tiny's tokenizer as well
GREEDY = Settings(Sampling(0), gamma=5, max_new_tokens=40)
WARM = Settings(Sampling(1.1, top_k=12, top_p=0.97), gamma=5, max_new_tokens=24)
TREE = replace(WARM, gamma=3, siblings=[3, 2])


def drafter(model, words=None, mask=MASK):
    """Return the drafter of a causal LM that reads `mask` as its mask."""
    model = deepcopy(model).eval().requires_grad_(False)
    model.config.pard_token = mask
    head = PardModel(model, words or tiny.tokenizer())
    return Pard(head, tiny.card(head, "tiny-pard", "pard"))


@once
def learned(steps):
    """Train a drafter's model for the taught target."""
    torch.manual_seed(3)
    head = training.build(headed.target(), torch.empty(0)).requires_grad_(True).train()
    return headed.fitted(head, training.loss, steps)


def trained_drafter(steps=120):
    """Return the drafter of the trained model."""
    head = learned(steps)
    return Pard(head, tiny.card(head, "tiny-pard", "pard"))


@torch.inference_mode()
def plain_logits(model, text, depth, mask=MASK):
    """Return logits (depth, V) of the positions after `text`, by transformers without a cache."""
    return model(torch.tensor([[*text, *[mask] * (depth - 1)]])).logits[0, -depth:]


# Drafts


@pytest.mark.parametrize("settings", [GREEDY, WARM, TREE], ids=["greedy", "warm", "tree"])
def test_guesses_are_sampled_from_one_pass_over_text_and_mask_tokens(settings):
    """q of a node depends on its depth alone; keys of masks do not stay in the cache."""
    target, made = tiny.target(), drafter(tiny.llama(seed=6))
    before = 0
    for text, proposal in driven(target, made, settings):
        tree, remark = proposal.tree, proposal.evidence[0]
        depth = remark["masks"] + 1
        assert (remark["passes"], remark["rows"]) == (1, len(text) - before + depth - 1)
        assert proposal.work.body == remark["rows"]
        assert proposal.work.head == depth
        before = len(text)
        logits = plain_logits(made.head.model, text, depth)
        soft = logits.softmax(-1)
        for node, kids in enumerate(tree.children):
            for kid in kids:
                expected = soft[tree.depths[node], tree.tokens[kid]].item()
                assert proposal.score[kid] == pytest.approx(expected, abs=1e-5)
                assert proposal.evidence[kid] == {"place": tree.depths[kid]}
            if kids and settings is not GREEDY:
                q = logits_to_probs(logits[tree.depths[node]], settings.sampling)
                assert torch.allclose(proposal.q[node], q, rtol=0, atol=1e-5)
        check_places(remark["places"], soft)
        if settings is GREEDY:
            assert list(tree.tokens[1:]) == soft.argmax(-1)[: len(tree) - 1].tolist()
            assert proposal.drawn is Drawn.POINT_MASS
            assert not proposal.q


def test_session_reads_a_changed_text_again():
    """A session may be asked about another text, such as a prefix."""
    made = drafter(tiny.llama(seed=6))
    session = made.begin(tiny.target().start(made.capture), GREEDY)
    for text in (TEXT, TEXT[:5], [*TEXT[:5], 20, 21], TEXT):
        proposal = session.propose(text, 4, Chance(1, 1))
        top = plain_logits(made.head.model, text, 3).argmax(-1).tolist()
        assert list(proposal.tree.tokens[1:]) == top[: len(proposal.tree) - 1]


PLAIN, CUT = Sampling(1.0), Sampling(0.7, top_k=4, top_p=0.95)


# Training


def test_kept_training_rows_are_nested_and_end_with_the_text():
    torch.manual_seed(0)
    length, depth = 400, 6
    rows = training.kept_rows(length, depth)
    assert rows.anchors[:length].tolist() == list(range(length))
    assert (rows.depths[:length] == 1).all()
    by_depth = [set(rows.anchors[rows.depths == d].tolist()) for d in range(2, depth + 1)]
    for masks, some in enumerate(by_depth, start=1):
        wanted = length * max(training.KEPT**masks, training.LEAST)
        assert wanted - depth - 1 <= len(some) <= wanted
    for longer, shorter in zip(by_depth[1:], by_depth[:-1], strict=True):
        assert longer <= shorter
    assert (rows.anchors + rows.depths <= length).all()


def test_loss_is_the_weighted_mean_over_depths():
    head, outputs = learned(1), headed.outputs(1)
    torch.manual_seed(2)
    rows = training.kept_rows(outputs.tokens.shape[1])
    deepest = int(rows.depths.max())
    means = []
    for depth in range(1, deepest + 1):
        parts = []
        for anchor in rows.anchors[rows.depths == depth].tolist():
            text = outputs.tokens[0, : anchor + 1].tolist()
            p = outputs.logits[0, anchor + depth - 1].softmax(-1)
            q = plain_logits(head.model, text, depth, head.mask)[-1].log_softmax(-1)
            parts.append(-(p * q).sum())
        means.append(torch.stack(parts).mean())
    weights = [training.DECAY**k for k in range(deepest)]
    expected = sum(w * mean for w, mean in zip(weights, means, strict=True)) / sum(weights)
    one = replace(outputs, tokens=outputs.tokens[:1], final=outputs.final[:1])
    assert training.loss(head, one, rows).item() == pytest.approx(expected.item(), abs=1e-4)


def test_training_starts_from_the_shipped_draft_model_or_from_layers_of_the_target():
    target = headed.target()
    made = training.build(target, torch.empty(0))
    assert made.mask == MASK
    assert len(made.model.model.layers) == training.LAYERS < target.layers
    for name, weight in made.model.state_dict().items():
        assert torch.equal(weight, target.model.state_dict()[name]), name
    wide = tiny.target(tiny.llama(vocab_size=4096))
    house = training.build(wide, torch.empty(0)).model
    assert (house.config.hidden_size, len(house.model.layers)) == (192, 2)


# Files and traces


WHOLE = {"use_sliding_window": False, "max_position_embeddings": tiny.POSITIONS}


def write(folder, make=tiny.llama, words=None):
    """Write a checkpoint as amd/PARD-*: a whole model with `pard_token` and `spd_type`."""
    model = make()
    model.config.pard_token, model.config.spd_type = MASK, "pard"
    return tiny.save(model, folder, words)


@pytest.mark.parametrize("make", [tiny.llama, lambda: qwen2(**WHOLE)], ids=["llama", "qwen2"])
def test_published_checkpoint_is_recognised_and_can_draft(make, tmp_path):
    model, folder = make(), write(tmp_path / "pard", make)
    assert layout_in(folder).title == "PARD (AMD)"
    target = tiny.target()
    made = load_drafter(str(folder), target)
    assert (made.name, made.card.family, made.head.mask) == ("pard", "pard", MASK)
    for text, proposal in driven(target, made, GREEDY):
        top = plain_logits(model, text, GREEDY.gamma).argmax(-1).tolist()
        assert list(proposal.tree.tokens[1:]) == top[: len(proposal.tree) - 1]


MASKS = [tiny.VOCABULARY, -1, "x", None, True]
REFUSED = [
    *(({"pard_token": mask}, "its pard_token is not a token") for mask in MASKS),
    ({"spd_type": "pard2"}, "is a PARD-2"),
    ({"pard2": True}, "is a PARD-2"),
    ({}, "another target than 'tiny': their tokens differ"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED)
def test_checkpoint_that_cannot_draft_is_refused(change, sentence, tmp_path):
    folder = write(tmp_path / "pard", words=None if change else tiny.tokenizer_of("other " * 9))
    data = json.loads((folder / "config.json").read_text()) | change
    (folder / "config.json").write_text(json.dumps(data))
    with pytest.raises(Unsuitable, match=sentence):
        load_drafter(str(folder), tiny.target())


def test_saved_model_loads_unchanged(tmp_path):
    head = learned(2)
    head.save(tmp_path)
    loaded = PardModel.load(tmp_path, headed.target())
    assert loaded.mask == head.mask
    for name, weight in head.model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name], weight.bfloat16().float()), name
    assert "TokenizersBackend" not in (tmp_path / "tokenizer_config.json").read_text()
