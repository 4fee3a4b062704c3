"""Training of heads on the frozen target, with toy heads and a few steps."""

import json
import math
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import tiny
import torch
import torch.nn.functional as functional
from safetensors.torch import load_file, save_file
from test_training import LINES
from torch import nn

from specviz.adapters.transformers import cached_keys_values, growing_cache, with_cache
from specviz.catalog import loading
from specviz.commands import cli, train
from specviz.drafters.common.training import Family, overlaps, read_target_outputs, same_tops
from specviz.drafters.dflash import DFlash
from specviz.models.target import Target
from specviz.training import data, export, head_training, stages
from specviz.training.corpus import SOURCES
from specviz.training.data import Domain, held_out_windows
from specviz.training.head_training import HeadRecipe, HeadRun, Plan, TextBatches, train_heads
from specviz.training.tokenizer import END_OF_TEXT_ID, save_tokenizer, train_tokenizer
from specviz.training.trainer import Diverged, ResumeError, Trainer, decay_start, total_steps

RECIPE = HeadRecipe(seed=5, rows=2, length=16, warm_up=2, made_for="a" * 64)
TARGET = tiny.target()
MODEL = TARGET.model
COUNTS = torch.arange(tiny.VOCABULARY)


class Toy(nn.Module):
    """A head that guesses the second next token from the final state, with dropout."""

    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, outputs):
        state = functional.dropout(outputs.final, 0.2, self.training)
        return outputs.head(state + self.mix(state) * self.scale)

    def save(self, folder):
        # so coarse that the exported head differs visibly from the trained one
        tensors = {name: (value * 4).round() / 4 for name, value in self.state_dict().items()}
        save_file(tensors, folder / "model.safetensors")

    @classmethod
    def load(cls, folder, target):
        head = cls(target.model.config.hidden_size)
        head.load_state_dict(load_file(folder / "model.safetensors"))
        return head


def toy_loss(head, outputs):
    logits = head(outputs)[:, :-1].float().flatten(0, 1)
    return functional.cross_entropy(logits, outputs.logits[:, 1:].softmax(-1).flatten(0, 1))


def toy(name="toy", loss=toy_loss, **changes):
    return Family(
        name,
        build=lambda target, _counts: Toy(target.model.config.hidden_size),
        loss=loss,
        guesses=lambda head, outputs: [head(outputs)],
        **changes,
    )


def batch(step):
    generator = torch.Generator().manual_seed(step)
    return torch.randint(tiny.VOCABULARY, (RECIPE.rows, RECIPE.length + 1), generator=generator)


def batches(target=TARGET, texts=batch, recipe=RECIPE):
    return TextBatches(target, recipe, texts, batch(1000))


def plan(folder, steps=10, target=TARGET, **changes):
    tokens = steps * RECIPE.rows * RECIPE.length
    usual = Plan(RECIPE, tokens, folder, batches(target), COUNTS, save_every=1, measure_every=1000)
    return replace(usual, **changes)


def weights(run):
    return {name: value.clone() for name, value in run.head.state_dict().items()}


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def trained(folder, *families, steps=10, **changes):
    return train_heads(TARGET, families, plan(folder, steps, **changes), report=lambda _text: None)


def interrupted(folder, at, *families, target=TARGET, steps=10, **changes):
    """Train until the last family's head has saved its checkpoint of step `at`."""
    real = Trainer.save

    def save(trainer, steps):
        real(trainer, steps)
        if trainer.step == at and trainer.folder.name == families[-1].name:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "save", save)
        with pytest.raises(KeyboardInterrupt):
            train_heads(target, families, plan(folder, steps, target, **changes))


def test_captured_target_outputs_equal_those_of_model_forward():
    ids = batch(0)
    outputs = read_target_outputs(MODEL, ids, keys_values=(2,))
    kept = growing_cache()
    out = MODEL(ids, output_hidden_states=True, **with_cache(MODEL, kept))
    layers, norm = MODEL.model.layers, MODEL.model.norm
    assert len(outputs.states) == len(layers) + 1
    torch.testing.assert_close(outputs.logits, out.logits)
    torch.testing.assert_close(outputs.states[0], MODEL.model.embed_tokens(ids))
    torch.testing.assert_close(outputs.states[1], out.hidden_states[1])
    torch.testing.assert_close(norm(outputs.states[-1]), outputs.final)
    assert not torch.allclose(outputs.states[-1], outputs.final)
    assert list(outputs.keys_values) == [2]
    for ours, theirs in zip(outputs.keys_values[2], cached_keys_values(kept, 2), strict=True):
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(outputs.embed(ids), outputs.states[0])


def test_gradients_pass_through_the_frozen_output_head():
    target = tiny.llama().requires_grad_(True)
    outputs = read_target_outputs(target, batch(0), keys_values=(1,))
    pieces = [*outputs.states, outputs.final, outputs.logits, *outputs.keys_values[1]]
    assert not any(piece.requires_grad for piece in pieces)
    state = outputs.final.clone().requires_grad_(True)
    torch.testing.assert_close(outputs.head(state).detach(), outputs.logits)
    (outputs.head(state).sum() + outputs.embed(outputs.tokens).sum()).backward()
    assert state.grad is not None
    assert state.grad.abs().sum() > 0
    assert all(weight.grad is None for weight in target.parameters())


def test_target_logits_are_float32_under_autocast():
    exact = read_target_outputs(MODEL, batch(0))
    with torch.autocast("cpu", torch.bfloat16):
        outputs = read_target_outputs(MODEL, batch(0))
        rounded = outputs.head(outputs.final)
    assert outputs.logits.dtype == torch.float32
    assert rounded.dtype == torch.bfloat16
    assert not torch.equal(outputs.logits, outputs.logits.bfloat16().float())
    assert (outputs.logits - exact.logits).abs().mean() < 0.05 * exact.logits.abs().mean()


def test_keys_and_values_of_a_missing_layer_are_refused():
    for layer in (0, 3):
        with pytest.raises(ValueError, match="layers are 1 to 2"):
            read_target_outputs(MODEL, batch(0), keys_values=(layer,))


@pytest.mark.slow
def test_resuming_gives_the_weights_of_an_uninterrupted_run(tmp_path):
    """A head that is ahead waits for the other one."""
    families = toy("one"), toy("other")
    interrupted(tmp_path / "ahead", 4, families[0])  # at a constant rate
    passes = []
    noted = batches(texts=lambda step: passes.append(step) or batch(step))
    interrupted(tmp_path / "ahead", 8, *families, batches=noted)  # while it falls
    both = trained(tmp_path / "ahead", *families, batches=noted)
    assert passes == list(range(10))
    for run, family in zip(both, families, strict=True):
        (alone,) = trained(tmp_path / "alone", family)
        assert run.trainer.step == 10
        assert same(weights(alone), weights(run))


@pytest.mark.slow
def test_all_heads_share_one_target_pass_per_batch(tmp_path, monkeypatch):
    passes = []
    real = head_training.read_target_outputs
    monkeypatch.setattr(
        head_training, "read_target_outputs", lambda *args: passes.append(args[2]) or real(*args)
    )
    taps = toy("one", keys_values=(2,)), toy("other", keys_values=(2, 1))
    trained(tmp_path, *taps, toy("third"), steps=3)
    assert passes == [[1, 2]] * 4  # three steps and one measurement


def poisoned(at, good):
    """Make the loss NaN at a step, or (good) only its gradient."""
    calls = []

    def loss(head, outputs):
        calls.append(1)
        value = toy_loss(head, outputs)
        if len(calls) <= at:
            return value
        return value + (head.scale * 0).sqrt().sum() if good else value * math.nan

    return loss


@pytest.mark.slow
@pytest.mark.parametrize("good", [False, True])
def test_head_that_diverges_stops_without_affecting_the_others(tmp_path, good):
    said = []
    bad = toy("bad", poisoned(3, good))
    both = train_heads(TARGET, [bad, toy("one")], plan(tmp_path / "both"), said.append)
    (alone,) = trained(tmp_path / "alone", toy("one"))
    assert same(weights(alone), weights(both[1]))
    assert both[1].error is None
    assert "bad diverged at step 3" in said[0]
    assert both[0].error is not None
    saved = torch.load(tmp_path / "both" / "bad" / "constant.pt", weights_only=True)
    assert saved["step"] == 3
    assert same(weights(both[0]), saved["model"])
    assert all(value.isfinite().all() for value in saved["model"].values())


def test_checkpoint_for_another_target_is_refused(tmp_path):
    trained(tmp_path, toy(), steps=4)
    other = replace(RECIPE, made_for="b" * 64)
    with pytest.raises(ResumeError, match="other settings"):
        trained(tmp_path, toy(), steps=20, recipe=other)


def test_muon_trains_hidden_matrices_only():
    head = nn.ModuleDict(
        {
            "fc": nn.Linear(8, 6),
            "embed_tokens": nn.Embedding(30, 8),
            "lm_head": nn.Linear(8, 20, bias=False),
            "out": nn.Linear(8, 30, bias=False),
            "mask": nn.Embedding(1, 8),
        }
    )
    chosen = head_training.hidden_matrices(head, vocabulary=30)
    assert [weight.shape for weight in chosen] == [(6, 8)]


def test_agreement_compares_predictions_of_the_same_token():
    outputs = read_target_outputs(MODEL, batch(0))
    perfect = [outputs.logits[:, 1:], outputs.logits[:, 2:]]
    assert same_tops(perfect, outputs) == [1.0, 1.0]
    assert overlaps(perfect, outputs) == pytest.approx([1.0, 1.0], abs=1e-5)
    late = [outputs.logits, outputs.logits]  # each row predicts one token too early
    assert max(same_tops(late, outputs)) < 0.5
    flat = [torch.zeros_like(outputs.logits)]
    share = torch.minimum(outputs.logits[:, 1:].softmax(-1), torch.tensor(1 / tiny.VOCABULARY))
    assert overlaps(flat, outputs) == pytest.approx([float(share.sum(-1).mean())], rel=1e-4)


def test_measured_agreement_is_averaged_over_all_windows():
    family = toy()
    run = HeadRun(family, family.build(TARGET, COUNTS).eval(), trainer=None)
    windows = torch.cat([batch(step) for step in range(3)])[:5]
    whole = family.agreement(run.head, read_target_outputs(MODEL, windows))
    parts = [read_target_outputs(MODEL, rows) for rows in windows.split(2)]
    assert head_training.measure_alpha([run], parts)["toy"] == pytest.approx(whole, abs=1e-4)
    blind = replace(run, family=replace(family, guesses=None))
    assert head_training.measure_alpha([blind], parts) == {"toy": []}


def test_plateau_of_alpha_is_detected():
    for values, plateaued in (
        ([0.1, 0.1, 0.1], False),  # too few to judge
        ([0.1, 0.2, 0.3, 0.4, 0.5], False),
        ([0.1, 0.3, 0.5, 0.5009, 0.5003, 0.5011], True),
        ([0.5, 0.4, 0.4, 0.4], True),
        ([0.5, 0.5, 0.5, 0.51], False),
    ):
        assert head_training.has_plateaued(dict(enumerate(values))) is plateaued, values


@pytest.mark.slow
def test_plateau_message_suggests_a_total_length_of_training(tmp_path):
    said = []
    plateaued = toy(loss=lambda head, outputs: toy_loss(head, outputs) * 0)
    train_heads(TARGET, [plateaued], plan(tmp_path, 30, measure_every=2), said.append)
    assert len(said) == 1  # reported once
    assert "toy: α has stopped rising" in said[0]
    assert "at step 8" in said[0]
    tokens = int(said[0].rsplit(" ", 1)[1].rstrip("."))
    assert decay_start(RECIPE, total_steps(RECIPE, tokens)) in (8, 9)


@pytest.mark.slow
def test_measured_alpha_is_kept_when_training_is_resumed(tmp_path):
    (straight,) = trained(tmp_path / "straight", toy(), measure_every=2)
    interrupted(tmp_path / "stopped", 5, toy())
    (resumed,) = trained(tmp_path / "stopped", toy(), measure_every=2)
    assert list(straight.alpha) == [2, 4, 6, 8, 10]
    # the interrupted run measured nothing, and nothing is invented
    assert {step: straight.alpha[step] for step in (6, 8, 10)} == resumed.alpha
    (again,) = trained(tmp_path / "straight", toy(), measure_every=2)
    assert again.alpha == pytest.approx(straight.alpha, abs=1e-4)
    assert straight.trainer.loss == resumed.trainer.loss == again.trainer.loss > 0


# The target's own text


def domain(name, share=1.0):
    rng = np.random.default_rng(len(name))
    stream = rng.integers(1, tiny.VOCABULARY, 400).astype(np.uint16)
    stream[::20] = END_OF_TEXT_ID
    return Domain(name, share, stream, np.arange(0, 380, 20), stream[::-1][19:150].copy())


WRITER = data.Writer(MODEL, seed=3, rows=4, length=24, prompts=(3, 6))


def written(folder, tokens):
    domains = [domain("one", 0.25), domain("three", 0.75)]
    return data.with_own_text(domains, WRITER, tokens, "f" * 64, folder)


@pytest.mark.slow
def test_training_text_is_generated_by_the_target():
    ids = batch(0)[:, :5]
    greedy = data.continued(MODEL, ids, 20, None)
    for row in greedy:
        before = 5
        while before < 20:  # continues past an end token, where generate would stop
            text = MODEL.generate(row[None, :before], max_length=20, do_sample=False)[0]
            assert torch.equal(text, row[: len(text)])
            before = len(text)
    drawn = [
        data.continued(MODEL, ids, 20, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])
    assert not torch.equal(drawn[0], greedy)


@pytest.mark.slow
def test_generated_text_starts_with_prompts_and_has_half_the_training_share(tmp_path):
    one, three, own = written(tmp_path, 200)
    assert [one.share, three.share, own.share] == [0.125, 0.375, 0.5]
    assert len(own.training) == 3 * 4 * 24  # whole batches
    assert own.starts.tolist() == list(range(0, 288, 24))
    starts = {tuple(d.training[i : i + 3]) for d in (one, three) for i in d.starts}
    assert {tuple(own.training[i : i + 3]) for i in own.starts} <= starts
    held_out = {tuple(d.held_out[i : i + 3]) for d in (one, three) for i in range(len(d.held_out))}
    assert {tuple(own.held_out[i : i + 3]) for i in range(0, len(own.held_out), 24)} <= held_out


@pytest.mark.slow
def test_generated_text_is_reused_and_extended(tmp_path, monkeypatch):
    longer = np.array(written(tmp_path / "longer", 400)[-1].training)
    short = np.array(written(tmp_path / "grown", 100)[-1].training)
    assert longer[: len(short)].tolist() == short.tolist()
    (path,) = (tmp_path / "grown").glob("*.training.bin")
    path.write_bytes(path.read_bytes()[:-7])  # stopped in the middle of a batch
    assert written(tmp_path / "grown", 400)[-1].training.tolist() == longer.tolist()
    monkeypatch.setattr(data, "continued", None)  # nothing is written again
    assert written(tmp_path / "grown", 400)[-1].training.tolist() == longer.tolist()


# The whole stage


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A corpus, a tokenizer and a finished target, all tiny; toys for heads."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name in {source.domain for source in SOURCES} | {"dialogues_dev"}:
        lines = [json.dumps({"text": f"{name} {i} {LINES[i % 4]}"}) for i in range(150)]
        (corpus / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    tokenizer = train_tokenizer(LINES * 4, vocabulary_size=tiny.VOCABULARY)
    save_tokenizer(tokenizer, tmp_path / "work" / "tokenizer")
    export.export_model(tiny.llama(), tokenizer, tmp_path / "out" / "target")
    monkeypatch.setattr(stages, "HeadRecipe", partial(HeadRecipe, rows=2, length=16, warm_up=2))
    monkeypatch.setattr(stages, "Writer", partial(data.Writer, rows=4, length=48))
    toys = {"toy": toy, "bad": lambda: toy("bad", poisoned(2, good=False))}
    monkeypatch.setattr(stages, "training_family", lambda name: toys[name]())
    return stages.Options(
        corpus=str(corpus),
        out=tmp_path / "out",
        work=tmp_path / "work",
        tokens=6 * 2 * 16,
        seed=1,
        threads=1,
        device="cpu",
        fast=False,
        names=("toy", "bad"),
        own_text=300,
    )


@pytest.mark.slow
def test_training_of_heads_evaluates_the_exported_weights(workshop):
    with pytest.raises(Diverged, match=r"bad diverged at step 2.*The other heads are finished"):
        stages.make_heads(workshop)
    assert not (workshop.out / "bad").exists()
    facts = export.read_manifest(workshop.out / "toy")
    assert facts["made_for"] == stages.weights_hash(workshop.out / "target")
    assert (facts["steps"], facts["tokens"]) == (6, 192)
    assert facts["bytes"] == (workshop.out / "toy" / "model.safetensors").stat().st_size
    assert set(facts["agreement"]) == {*(source.domain for source in SOURCES), "own-text"}
    target = tiny.target(export.load_exported(workshop.out / "target"))
    shipped = HeadRun(toy(), Toy.load(workshop.out / "toy", target).eval(), trainer=None)
    own = next((workshop.work / "own-text").glob("*.held_out.bin"))
    ids = torch.from_numpy(np.fromfile(own, dtype=np.uint16).astype(np.int64))
    windows = Domain("own", 1.0, ids.numpy(), np.zeros(1), ids.numpy())
    held_out_batches = TextBatches(
        target, RECIPE, batch, held_out_windows(windows, 16, 16)
    ).held_out_batches
    chosen = head_training.measure_alpha([shipped], held_out_batches([shipped.family]))
    assert facts["agreement"]["own-text"] == chosen["toy"]  # a point mass, as in most families
    assert facts["overlap"]["own-text"] != chosen["toy"]
    assert facts["loss"] > 0


@pytest.mark.slow
def test_training_continues_the_weights_of_a_finished_head(workshop, monkeypatch):
    monkeypatch.setattr(stages, "training_family", loading.training_family)
    first, later = (workshop.work / name for name in ("first", "later"))
    for out in (first, later):
        shutil.copytree(workshop.out / "target", out / "target")
    head = replace(workshop, names=("medusa",), out=first)
    stages.make_heads(head)
    start = first / "medusa"
    shutil.rmtree(workshop.work / "heads")  # the checkpoints of the first training
    still = replace(head, out=later, rate=0.0, start=start)
    stages.make_heads(still)
    facts = export.read_manifest(later / "medusa")
    assert facts["before"] == export.read_manifest(start)
    assert facts["recipe"]["start"] == export.weights_of(start)
    assert export.weights_of(later / "medusa") == export.weights_of(start), "nothing was learned"
    export.write_manifest(start, facts["before"] | {"made_for": "b" * 64})
    with pytest.raises(ValueError, match="made for another target"):
        stages.make_heads(still)


def test_command_trains_the_named_heads_or_all(monkeypatch):
    asked = []
    monkeypatch.setattr(train, "STAGES", {"heads": asked.append})
    for words, names, own, precision in (
        ("heads", (), 0, "bfloat16"),
        ("heads --names eagle,medusa --own-text 70", ("eagle", "medusa"), 70, "bfloat16"),
        ("mtp-parallel --float32", ("mtp-parallel",), 0, "float32"),
    ):
        assert cli.main(["train", *words.split()]) == 0
        found = asked.pop()
        assert (found.names, found.own_text, found.precision) == (names, own, precision)
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", "heads", "--names", "eagle,eagel"])
    assert stop.value.code == 2


# The families


@pytest.fixture(scope="module")
def deep():
    """Return a target with six layers, so that every family finds the layers it reads."""
    return tiny.target(tiny.llama(num_hidden_layers=6, num_key_value_heads=4))


def tells(head, inputs, family):
    torch.manual_seed(0)
    return float(family.loss(head, inputs).detach())


BLOCKS = ("eagle3", "moa", "dflash", "dspark", "dflash2", "jetspec")


@pytest.mark.slow
@pytest.mark.parametrize("steps", [4, pytest.param(20, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", loading.trainable_heads())
def test_every_family_of_heads_can_be_trained_resumed_saved_and_loaded(tmp_path, deep, name, steps):
    """Train a head, and again with an interruption; save it and load it."""
    target, folder, family = deep, tmp_path, loading.training_family(name)
    new = head_training._start_run(target, family, plan(folder / "new", steps))
    before = weights(new)
    straight = plan(folder / "straight", steps, target, measure_every=steps // 2)
    (run,) = train_heads(target, [family], straight)
    assert list(run.alpha) == [steps // 2, steps]
    moved = {key for key, value in weights(run).items() if not torch.equal(value, before[key])}
    weighed = run.head.named_parameters(remove_duplicate=False)
    assert moved == {key for key, weight in weighed if weight.requires_grad}
    assert all(weight.grad is None for weight in target.model.parameters())
    outputs = read_target_outputs(target.model, batch(3), family.keys_values)
    assert tells(run.head, outputs, family) < tells(new.head, outputs, family)
    if name in BLOCKS:  # a text shorter than a draft
        short = read_target_outputs(target.model, batch(3)[:, :3], family.keys_values)
        assert math.isfinite(tells(run.head, short, family))
    interrupted(folder / "resumed", steps // 2, family, target=target, steps=steps)
    (resumed,) = train_heads(target, [family], plan(folder / "resumed", steps, target))
    assert same(weights(run), weights(resumed))
    run.head.save(folder)
    with torch.no_grad():
        for weight in run.head.parameters():
            weight.copy_(weight.bfloat16())  # as shipped
    back = loading.load_head(run.head, folder, target)
    shares = family.agreement(back, outputs)
    assert shares == pytest.approx(family.agreement(run.head, outputs), abs=1e-5)
    assert all(0 <= share <= 1 for share in shares)


def test_draft_vocabulary_of_eagle_3_has_the_most_frequent_tokens(deep):
    # the last tokens are the frequent ones
    head = loading.training_family("eagle3").build(deep, COUNTS)
    assert head.tokens.tolist() == list(range(tiny.VOCABULARY // 4, tiny.VOCABULARY))


def test_new_heads_for_a_small_target_are_small():
    model = tiny.llama(
        hidden_size=256, intermediate_size=704, num_hidden_layers=12, num_key_value_heads=4,
        vocab_size=4096,
    )  # fmt: skip
    target = Target(model, tiny.tokenizer(), tiny.card(model, "house", "causal-lm"))
    for name in ("moa", "dflash"):
        head = loading.training_family(name).build(target, torch.ones(4096))
        size = 2 * sum(weight.numel() for weight in head.parameters())  # in bf16
        assert 1.5e6 < size < 2.5e6, name
    assert (head.config.block_size, head.config.mask_token_id) == (8, 0)
    assert DFlash(head, None).capture.layers == (2, 6, 10)
