"""Training heads of any Llama on its own answers: generation, storage, batches and training."""

from __future__ import annotations

import json
import math
from copy import copy
from dataclasses import replace
from functools import partial

import pytest
import tiny
import torch
from test_engine import traced

from specviz import load
from specviz.catalog import load_target
from specviz.commands import cli
from specviz.drafters.common.training import HeadOptions, overlaps, read_target_outputs
from specviz.drafters.dflash.head import DECAY
from specviz.drafters.dspark import training as training_dspark
from specviz.drafters.eagle import head3 as training3
from specviz.models.errors import Unsuitable
from specviz.models.files import fingerprint, weight_files
from specviz.models.network import prepare
from specviz.settings.settings import Sampling, Settings
from specviz.shipped import prompts
from specviz.trace.check import check
from specviz.trace.metrics import baseline_difference, summary
from specviz.training import stages
from specviz.training.answers import questions as question_files
from specviz.training.answers.batched_decode import BatchedDecoder, Bf16Linear, bf16_copy
from specviz.training.answers.dataset import (
    AnswerBatches,
    AnswerRecipe,
    Shard,
    family_with_options,
    shard_paths,
)
from specviz.training.answers.questions import Question, read_questions, write_questions
from specviz.training.answers.writer import AnswerSettings, order_batches, write_answers

pytestmark = pytest.mark.slow

close = partial(torch.testing.assert_close, rtol=1e-4, atol=1e-4)
WRITING = AnswerSettings(3, (2, 3, 4), rows=4, answer=20)
ASKED = [
    *(Question(f"The cat sat {i} times.", "cats", held_out=i == 1) for i in range(7)),
    *[Question("", "own")] * 3,
]


@pytest.fixture(scope="module")
def target():
    return tiny.target(tiny.llama(num_hidden_layers=6), tiny.chat_tokenizer())


@pytest.fixture(scope="module")
def written(target, tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    write_answers(target, ASKED, WRITING, folder, 10**6)
    return folder


def batches(target, folder):
    return AnswerBatches(target, folder, AnswerRecipe(seed=1, rows=2, length=64))


def answers_in(folder):
    shards = map(Shard, shard_paths(folder))
    return [shard.read(i) for shard in shards for i in range(len(shard.lengths))]


def test_batched_decoding_equals_separate_passes(target):
    texts = [[5, 6, 7], [9, 8, 7, 6, 5, 4], [3]]
    decoder = BatchedDecoder(target.model, (2, 6), texts, 2)
    first, second = decoder.read(), decoder.step(torch.tensor([11, 12, 13]))
    decoder.keep(torch.tensor([0, 2]))
    third = decoder.step(torch.tensor([14, 15]))
    for row, kept in ((0, 0), (2, 1)):
        text = [*texts[row], 11 + row, 14 + kept]
        alone = read_target_outputs(target.model, torch.tensor([text]))
        for output, i, at in ((first, row, -3), (second, row, -2), (third, kept, -1)):
            close(output.taps[i, -1, 0], alone.states[2][0, at])
            close(output.taps[i, -1, 1], alone.states[6][0, at])
            close(decoder.logits(output.final[i, -1]), alone.logits[0, at])


def test_written_answers_equal_generation_and_keep_hidden_states(target, written):
    read = answers_in(written)
    assert {answer.temperature for answer in read} == {0.0, 0.7, 1.0}
    assert sum(answer.domain == "cats" for answer in read) == 7
    for answer in read:
        outputs = read_target_outputs(target.model, answer.tokens.long()[None])
        kept = [*(outputs.states[k][0] for k in WRITING.layers), outputs.final[0]]
        states = torch.stack(kept, dim=1).bfloat16()
        torch.testing.assert_close(answer.states, states, rtol=0.02, atol=0.02)
        own = slice(answer.prompt - 1, None)
        assert torch.equal(answer.tops[own].long(), outputs.tops[0, own])
        if answer.temperature == 0:
            assert torch.equal(answer.tokens[answer.prompt :].long(), outputs.tops[0, own][:-1])
        assert not set(answer.tokens[answer.prompt :].tolist()) & set(target.eos)


def test_written_answer_ends_at_an_end_token(target, written, tmp_path):
    def greedy(folder):
        cats = [a for a in answers_in(folder) if a.domain == "cats" and not a.temperature]
        return [a.tokens[a.prompt :].tolist() for a in cats]

    last = greedy(written)[-1][5]
    sooner = copy(target)
    sooner.eos = (*target.eos, last)
    write_answers(sooner, ASKED, WRITING, tmp_path, 10**6)
    cut = [ids[: ids.index(last)] if last in ids else ids for ids in greedy(written)]
    assert cut != greedy(written)
    assert greedy(tmp_path) == cut


def test_interrupted_writing_of_answers_resumes(target, written, tmp_path, monkeypatch):
    write_answers(target, ASKED, WRITING, tmp_path, 1)
    (only,) = shard_paths(tmp_path)
    time = only.stat().st_mtime_ns
    write_answers(target, ASKED, WRITING, tmp_path, 10**6)
    assert only.stat().st_mtime_ns == time
    assert [p.read_bytes() for p in shard_paths(tmp_path)] == [
        p.read_bytes() for p in shard_paths(written)
    ]
    with pytest.raises(ValueError, match=r"written with other settings \(answer, seed\)"):
        write_answers(target, ASKED, replace(WRITING, seed=4, answer=9), tmp_path, 10**6)


def test_batches_contain_each_question_once_with_held_out_ones_first():
    batches = order_batches(ASKED, WRITING)
    flat = [question for batch in batches for question in batch]
    assert sorted(map(str, flat)) == sorted(map(str, ASKED))
    assert batches[0] == [question for question in ASKED if question.held_out]
    assert all(len({bool(q.text) for q in batch}) == 1 for batch in batches)


def test_held_out_answers_are_not_used_in_training(target, written):
    answers = batches(target, written)
    secret = [place.read().tokens.tolist() for place in answers.held_out]
    assert len(secret) == 1
    for step in range(30):
        outputs = answers.training_batch(step, ())
        assert outputs.tokens.numel() <= 2 * 64
        for row in outputs.tokens.tolist():
            assert row[: len(secret[0])] != secret[0]
    assert torch.equal(answers.training_batch(3, ()).tokens, answers.training_batch(3, ()).tokens)


@pytest.mark.parametrize("name", ["eagle3", "dspark"])
def test_loss_on_stored_answers_equals_that_of_a_target_pass(target, written, name):
    """The stored rows of an answer equal those of a separate target pass."""
    answers = batches(target, written)
    (outputs,) = answers._measured_batches(answers.held_out)
    whole = read_target_outputs(target.model, outputs.tokens)
    own = outputs.counted
    assert 0 < own.sum() < own.numel()
    family = family_with_options(name, HeadOptions(draft_vocabulary=200, steps=2))
    head = family.build(target, answers.counts())
    assert torch.equal(outputs.tops[own], whole.tops[own])

    def loss(of):
        torch.manual_seed(1)
        return family.loss(head, of)

    kept, again = loss(outputs), replace(whole, generated=outputs.generated)
    torch.testing.assert_close(kept, loss(again), rtol=0.05, atol=0.05)
    assert (kept - loss(whole)).abs() > 0.01  # the prompt is not learned


def test_head_is_initialised_from_the_last_layer_of_the_target(target, written):
    counts = batches(target, written).counts()
    head = training3.init_from_target(target, counts, HeadOptions(50))
    assert head.config.rope_theta == target.model.config.rope_parameters["rope_theta"]
    taps = torch.randn(3, 2, 48)
    torch.testing.assert_close(
        head.fuse(dict(zip(head.config.tap_layers, taps, strict=True))), taps[2]
    )
    rows = target.model.lm_head.weight[head.tokens]
    torch.testing.assert_close(head.draft_logits(taps[0]), head.norm(taps[0]) @ rows.T)
    assert counts[head.tokens].min() >= counts[~head.t2d].max()
    assert not head.lm_head.weight.requires_grad


def dspark_head(target, vocabulary=tiny.VOCABULARY):
    """Return a head with blocks of four guesses whose Markov head corrects something."""
    counts = torch.arange(tiny.VOCABULARY).flip(0)
    head = training_dspark.init_from_target(target, counts, HeadOptions(vocabulary, 4))
    torch.manual_seed(5)
    torch.nn.init.normal_(head.markov_head.markov_w2.weight, std=0.3)
    return head


def test_dspark_head_passes_on_keys_of_the_last_layers_of_the_target(target):
    head, last = dspark_head(target), target.model.model.layers[-1]
    assert head.config.tap_layers == (2, 3)  # those that `train write` stores
    taps = torch.randn(2, 1, 3, 48)
    _, (_, values) = head.past({2: taps[0], 3: taps[1]}, torch.arange(3))
    expected = last.self_attn.v_proj(last.input_layernorm(taps[1]))
    close(values.transpose(1, 2).flatten(2), expected)
    before = target.model.model.layers[-2].state_dict()
    close(head.layers.state_dict()["0.mlp.up_proj.weight"], before["mlp.up_proj.weight"])
    found, embedding = head.markov_head.markov_w1.weight, target.model.get_input_embeddings().weight
    close(found.T @ found / len(found), torch.eye(48))
    centred = embedding - embedding.mean(0)
    close(found @ torch.linalg.lstsq(found, centred).solution, centred)  # as many as the width


def test_dspark_loss_over_all_tokens_equals_that_on_texts(target, monkeypatch):
    """Blocks of a batch of answers, which is read as one row, equal those of separate texts."""
    head = dspark_head(target)  # seeds torch
    outputs = read_target_outputs(target.model, torch.randint(3, 280, (3, 20)))
    anchors = torch.tensor([1, 7, 18])
    flat = torch.cat([anchors, anchors + 20, anchors + 40])
    monkeypatch.setattr(training_dspark, "answer_anchors", lambda _: flat)
    whole = training_dspark.loss(head, outputs, anchors)
    torch.testing.assert_close(training_dspark.answer_loss(head, outputs), whole)


def test_dspark_loss_is_the_mean_over_answers_without_prompts_and_padding(target, written):
    """A batch of answers of different lengths has the weighted mean loss of its answers."""
    answers, head = batches(target, written), dspark_head(target)
    chosen = [answers.training[0], answers.training[-1]]
    assert chosen[0].length < chosen[1].length
    losses, weights = [], []
    for one in ([chosen[0]], [chosen[1]], chosen):
        outputs = answers._target_outputs(one)
        losses.append(training_dspark.answer_loss(head, outputs))
        own, steps = [each.read().own for each in one], range(4)
        weights.append(sum(max(0, n - k) * math.exp(-k / DECAY) for n in own for k in steps))
        assert len(training_dspark.answer_anchors(outputs)) == sum(own)
    whole = (losses[0] * weights[0] + losses[1] * weights[1]) / weights[2]
    torch.testing.assert_close(losses[2], whole)
    expected = overlaps(training_dspark.guesses(head, outputs), outputs)
    found = overlaps(training_dspark.answer_guesses(head, outputs), outputs)
    assert found == pytest.approx(expected)


def test_dspark_loss_over_some_tokens_estimates_that_over_all(target, monkeypatch):
    head, anchors = dspark_head(target, 100), torch.arange(1, 36)
    outputs = read_target_outputs(target.model, torch.randint(3, 280, (1, 40)))
    monkeypatch.setattr(training_dspark, "answer_anchors", lambda _: anchors)
    monkeypatch.setattr(training_dspark, "SAMPLED_TOKENS", 60)
    whole = training_dspark.loss(head, outputs, anchors)
    _, counts = training_dspark.loss_tokens(head, outputs)
    assert len(counts) < 200
    assert counts.exp().sum() == pytest.approx(280)

    def mean():
        found = [training_dspark.answer_loss(head, outputs).detach() for _ in range(40)]
        return torch.stack(found).mean()

    assert (mean() - whole).abs() < 0.1
    monkeypatch.setattr(training_dspark, "log", lambda _: 0.0)  # each stands for itself alone
    assert (mean() - whole).abs() > 0.2


def test_targets_and_heads_that_do_not_fit_are_refused(written):
    with pytest.raises(Unsuitable, match="Only Llama models can write answers; this is a gpt2"):
        BatchedDecoder(tiny.gpt2(), (1,), [[1]], 1)
    with pytest.raises(ValueError, match="these heads can: eagle3, dspark"):
        family_with_options("medusa", HeadOptions())
    other = tiny.target(tiny.llama(seed=2, num_hidden_layers=6), tiny.chat_tokenizer())
    other.card = replace(other.card, hash="b" * 64)
    with pytest.raises(ValueError, match="by another target"):
        batches(other, written)


def test_bf16_copy_leaves_the_original_model_unchanged(target):
    prepare(target.model)  # as `load_target` does: packed weights cannot be copied
    before = target.model.lm_head
    halved, ids = bf16_copy(target.model), torch.tensor([[4, 5, 6]])
    assert isinstance(halved.lm_head, Bf16Linear)
    assert target.model.lm_head is before
    exact, rough = target.model(ids).logits, halved(ids).logits
    assert rough.dtype == torch.float32
    assert 0 < (exact - rough).abs().max() < 0.2 * exact.abs().max()


def test_questions_round_trip_through_their_file(tmp_path):
    path = tmp_path / "questions.jsonl"
    asked = [Question("one\u2028line", "a", True), Question("", "b")]
    write_questions(path, asked)
    assert read_questions(path) == asked
    path.write_text('{"text": "no domain"}\n')
    with pytest.raises(ValueError, match=r"Line 1 of questions\.jsonl"):
        read_questions(path)


def test_training_questions_do_not_overlap_measured_prompts(tmp_path):
    ours = [text for texts in prompts().values() for text in texts]
    filler = "Tom walked to the red house by the river. He saw a dog there and was glad of it. " * 8
    code = "def walk(steps):\n" + "".join(
        f"    print({i}, 'a step of the way')\n" for i in range(9)
    )
    for name in ("tinystories", "dialogues", "python", "maths", "fairytales"):
        own = {"python": code, "dialogues": "User: Is it far?\nAssistant: No.\n"}.get(name, filler)
        lines = [json.dumps({"text": text}) for text in (*[own] * 4, *ours)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    found = question_files.generate_questions(str(tmp_path), 300, seed=1)
    taken = question_files.substrings(ours)
    learned = [question for question in found if not question.held_out]
    assert {question.domain for question in learned} == set(question_files.SHARES)
    assert all(taken.isdisjoint(question_files.substrings([question.text])) for question in learned)
    assert {question.text for question in found if question.held_out} == set(ours)
    assert question_files.generate_questions(str(tmp_path), 300, seed=1) == found


@pytest.mark.parametrize("tokens", [2048, pytest.param(16384, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", ["eagle3", "dspark"])
def test_commands_from_questions_to_a_trained_head_work_together(
    tmp_path, monkeypatch, name, tokens
):
    """The greedy text equals the target's; after longer training some guesses are accepted."""
    folder = tmp_path
    model, data = folder / "target", folder / "answers"
    tiny.llama(num_hidden_layers=6).save_pretrained(model)
    tiny.chat_tokenizer().save_pretrained(model)
    write_questions(folder / "questions.jsonl", ASKED)
    monkeypatch.setattr(stages, "AnswerSettings", partial(AnswerSettings, rows=4, answer=20))
    usual = ["--target", str(model), "--data", str(data), "--threads", "1", "--float32"]
    asks = ["--questions", str(folder / "questions.jsonl"), "--tokens", "1000"]
    assert cli.main(["train", "write", *usual, *asks]) == 0
    learns = ["--tokens", str(tokens), "--draft-vocabulary", "200", "--unroll", "2", "--rate", "4"]
    learns += ["--also-for", "c" * 64, "--names", name]
    places = ["--out", str(folder / "out"), "--work", str(folder / "work")]
    assert cli.main(["train", "heads", *usual, *learns, *places]) == 0
    facts = json.loads((folder / "out" / name / "manifest.json").read_text())
    assert facts["made_for"] == load_target(str(model)).card.hash
    assert facts["recipe"]["unrolled"] == 2
    more = [
        "--out",
        str(folder / "more"),
        "--work",
        str(folder / "more"),
        "--tokens",
        "1024",
        "--rate",
        "0",
    ]
    start = folder / "out" / name
    assert cli.main(["train", "heads", *usual, *learns, *more, "--start", str(start)]) == 0
    later = json.loads((folder / "more" / name / "manifest.json").read_text())
    assert later["before"] == facts
    weights = fingerprint(weight_files(start))
    assert later["recipe"]["start"] == weights
    assert fingerprint(weight_files(folder / "more" / name)) == weights, "nothing was learned"
    assert cli.main(["train", "heads", *usual, *learns, *more, "--start", str(folder)]) == 2
    target, drafter = load(str(model), str(folder / "out" / name))
    assert drafter.made_for == (target.card.hash, "c" * 64)
    settings = Settings(Sampling(0), gamma=3, budget=4, max_new_tokens=24)
    trace = traced(target, drafter, ASKED[0].text, settings)
    check(trace)
    assert baseline_difference(trace) is None
    assert tokens < 16384 or summary(trace)["accepted_length"] > 0
