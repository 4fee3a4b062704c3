"""Training of the house models, with small networks and a few steps."""

import json

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

from specviz.commands import cli
from specviz.training import corpus, data, export, losses
from specviz.training.tokenizer import END_OF_TEXT_ID, save_tokenizer, train_tokenizer
from specviz.training.trainer import Recipe, ResumeError, Trainer, rate_factor

LINES = (
    "Once upon a time, a cat sat on a mat. The cat was warm.",
    "User: I want a table.\nAssistant: For how many people?",
    "def add(a, b):\n    return a + b\n",
    "Tom has 3 apples and buys 14 more. He has 3 + 14 = 17 apples.",
)
RECIPE = Recipe(seed=5, rows=2, length=16, warm_up=2)


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(LINES * 4, vocabulary_size=300)


@pytest.fixture(scope="module")
def mixture(tokenizer):
    domains = []
    for name, share in (("one", 0.5), ("two", 0.5)):
        stream = data.encode_documents([f"{name} {line}" for line in LINES] * 6, tokenizer)
        starts = np.flatnonzero(stream == END_OF_TEXT_ID)[:-1]
        domains.append(data.Domain(name, share, stream, starts, stream[:60]))
    return data.Mixture(domains, tokenizer, RECIPE.seed, RECIPE.length)


def tiny_model(layers=3):
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=300, hidden_size=32, intermediate_size=48, num_hidden_layers=layers,
        num_attention_heads=2, num_key_value_heads=2, tie_word_embeddings=True, bos_token_id=0,
        eos_token_id=0, initializer_range=0.2,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def trained(folder, mixture, *stops):
    """Train to each total of steps in turn, with a new model and trainer each time."""
    weights = {}
    for steps in stops:
        model = tiny_model()
        trainer = Trainer(model, RECIPE, folder)
        loss = losses.target_loss(model, RECIPE.seed, fast=False)
        tokens = steps * RECIPE.rows * RECIPE.length
        trainer.run(loss, lambda step: mixture.batch(step, RECIPE.rows), tokens, save_every=1)
        weights = model.state_dict()
    return weights


def test_tokenizer_round_trips_any_text(tokenizer, tmp_path):
    save_tokenizer(tokenizer, tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    for text in (*LINES, "naïve 🙂 café\t\x00\r\n  end ", "\n\n", "日本語", " "):
        ids = loaded(text).input_ids
        assert ids[0] == loaded.bos_token_id == loaded.eos_token_id == END_OF_TEXT_ID
        assert loaded.decode(ids[1:]) == text
        assert loaded(text, add_special_tokens=False).input_ids == ids[1:]


def test_prompt_that_ends_in_a_blank_line_is_tokenised_as_in_training():
    tokenizer = train_tokenizer(["Once.\n\nAgain."] * 50, vocabulary_size=300)
    alone = tokenizer("Once.\n\n").input_ids
    assert tokenizer.convert_ids_to_tokens(alone[-1]) == "ĊĊ"
    assert tokenizer("Once.\n\nAgain.").input_ids[: len(alone)] == alone


def test_documents_end_with_the_end_token(tokenizer):
    stream = data.encode_documents(list(LINES), tokenizer)
    assert stream[0] == stream[-1] == END_OF_TEXT_ID
    assert (stream == END_OF_TEXT_ID).sum() == len(LINES) + 1


def test_training_batch_depends_only_on_seed_and_step(mixture):
    other = data.Mixture(mixture.domains, mixture.tokenizer, RECIPE.seed + 1, RECIPE.length)
    again = data.Mixture(mixture.domains, mixture.tokenizer, RECIPE.seed, RECIPE.length)
    again.batch(3, 8)  # earlier draws must not matter
    batch = mixture.batch(7, 8)
    assert batch.shape == (8, RECIPE.length + 1)
    assert torch.equal(batch, again.batch(7, 8))
    assert not torch.equal(batch, again.batch(8, 8))
    assert not torch.equal(batch, other.batch(7, 8))


def test_training_window_of_repeated_text_contains_its_passage_twice(tokenizer):
    passage = tokenizer(LINES[0], add_special_tokens=False).input_ids
    ids = data.repeat_passage(tokenizer, passage, "\n\nTell it again.\n\n")
    assert ids[: len(passage)] == passage
    assert ids[-len(passage) - 1 : -1] == passage
    assert tokenizer.decode(ids[:-1]) == f"{LINES[0]}\n\nTell it again.\n\n{LINES[0]}"
    assert ids[-1] == END_OF_TEXT_ID


def test_repeated_passage_comes_from_one_document():
    for tokens, kept in (
        ([1, 2, 0, 3, 4, 5, 0, 6], [3, 4, 5]),
        ([1, 2, 3, 0, 4], [1, 2, 3]),
        ([0, 7, 8], [7, 8]),
    ):
        assert data._within_one_document(np.array(tokens, dtype=np.uint16)).tolist() == kept


@pytest.mark.slow
def test_resumed_and_extended_training_gives_the_weights_of_an_uninterrupted_run(tmp_path, mixture):
    straight = trained(tmp_path / "straight", mixture, 10)
    real = Trainer.save

    def stop_after(trainer, steps):
        real(trainer, steps)
        if trainer.step in (4, 8):  # once at a constant rate, once while it falls
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "save", stop_after)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                trained(tmp_path / "interrupted", mixture, 10)
    resumed = trained(tmp_path / "interrupted", mixture, 10)
    extended = trained(tmp_path / "extended", mixture, 6, 10)
    for other in (resumed, extended):
        assert all(torch.equal(straight[name], other[name]) for name in straight)
    with pytest.raises(ResumeError, match="Ask for more tokens"):
        trained(tmp_path / "straight", mixture, 6)


def test_learning_rate_warms_up_holds_and_decays():
    recipe = Recipe(seed=0, warm_up=4, decay_share=0.25)
    factors = [rate_factor(recipe, step, 100) for step in range(100)]
    assert factors[:4] == [0.25, 0.5, 0.75, 1.0]
    assert factors[4:76] == [1.0] * 72
    assert factors[99] == pytest.approx(1 / 25)


def test_training_pass_without_dropout_equals_transformers():
    model = tiny_model()
    ids = torch.randint(300, (2, 300), generator=torch.Generator().manual_seed(1))
    keep = losses.kept_layers(losses.dropout_rates(3, 0.0), rows=2, seed=0, step=0)
    assert keep.all()
    with torch.inference_mode():
        state = losses.TrainingForward(model, fast=False).states(ids, keep)[-1]
        ours = model.lm_head(model.model.norm(state))
        torch.testing.assert_close(ours, model(ids).logits, atol=1e-5, rtol=1e-4)


def test_layer_dropped_for_one_text_still_runs_for_other_texts():
    model = tiny_model()
    ids = torch.arange(12).view(2, 6)
    keep = torch.tensor([[True, True], [True, False], [True, True]])
    states = losses.TrainingForward(model, fast=False).states(ids, keep)
    assert torch.equal(states[1][1], states[0][1])
    assert not torch.equal(states[1][0], states[0][0])


@torch.inference_mode()
def test_loss_of_the_target_adds_a_quarter_of_one_exit_which_changes_with_the_step(monkeypatch):
    monkeypatch.setattr(losses, "LARGEST_DROPOUT", 0.0)
    model = tiny_model()
    ids = torch.randint(300, (2, 20), generator=torch.Generator().manual_seed(1))
    hidden = model(ids[:, :-1], output_hidden_states=True).hidden_states
    last, *exits = (
        float(functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()))
        for logits in (
            model.lm_head(hidden[-1]),
            *(model.lm_head(model.model.norm(hidden[layer])) for layer in (1, 2)),
        )
    )
    assert abs(exits[0] - exits[1]) > 0.05, "else one exit could be taken for the other"
    loss = losses.target_loss(model, seed=0, fast=False)
    for step in range(3):
        assert float(loss(ids, step)) == pytest.approx(last + exits[step % 2] / 4, abs=0.01)


def test_layer_dropout_rises_from_zero_to_its_largest_rate():
    rates = losses.dropout_rates(12, 0.1)
    assert rates[0] == 0.0
    assert rates[-1] == pytest.approx(0.1)
    assert rates == sorted(rates)


@torch.inference_mode()
def test_distillation_loss_of_a_model_to_itself_is_zero():
    model = tiny_model()
    training_pass = losses.TrainingForward(model, fast=False)
    state = training_pass.states(torch.arange(20).view(2, 10))[-1]
    logits = model.lm_head(model.model.norm(state)).flatten(0, 1)
    assert float(training_pass.distillation(state, logits)) == pytest.approx(0.0, abs=1e-6)
    assert float(training_pass.distillation(state, logits.flip(-1))) > 0.01


def test_loss_of_the_last_exit_equals_the_loss_of_the_model(mixture):
    model = tiny_model().eval()
    domain = mixture.domains[0]
    by_layer = losses.exit_losses(model, domain)
    assert len(by_layer) == 3
    windows = data.held_out_windows(domain, min(losses.LENGTH, len(domain.held_out) - 1), 32)
    own = [model(ids[None], labels=ids[None]).loss.item() for ids in windows]
    assert by_layer[-1] == pytest.approx(sum(own) / len(own), abs=2e-4)


def test_closeness_of_a_model_to_itself_is_one(mixture):
    model = tiny_model().eval()
    same = losses.closeness(model, model, mixture.domains[0])
    assert same == {"overlap": pytest.approx(1.0, abs=1e-4), "agreement": 1.0}
    other = losses.closeness(tiny_model(layers=1).eval(), model, mixture.domains[0])
    assert other["overlap"] < 0.99


def test_exported_model_folder_loads_in_transformers(tmp_path, tokenizer):
    export.export_model(tiny_model(), tokenizer, tmp_path)
    loaded = export.load_exported(tmp_path)
    assert loaded.dtype == torch.float32
    assert loaded.generation_config.eos_token_id == END_OF_TEXT_ID
    assert AutoTokenizer.from_pretrained(tmp_path)("a").input_ids[0] == END_OF_TEXT_ID
    numbers = sum(weights.numel() for weights in loaded.parameters())
    spare = (tmp_path / "model.safetensors").stat().st_size - 2 * numbers
    assert 0 <= spare < 10_000  # two bytes per number, and the tied embedding once


def test_held_out_documents_depend_only_on_their_text(tmp_path):
    texts = [f"document {number}" for number in range(2000)]
    source = corpus.Source("numbers", 1.0, "", "", "")

    def held_out(order):
        lines = [json.dumps({"text": text}) + "\n" for text in order]
        (tmp_path / "numbers.jsonl").write_text("".join(lines))
        training_texts, rest = corpus.split_documents(str(tmp_path), source)
        assert not set(training_texts) & set(rest)
        assert len(training_texts) + len(rest) == len(order)
        return set(rest)

    assert held_out(texts) == held_out(texts[::-1])
    assert 0.01 < len(held_out(texts)) / len(texts) < 0.03


def test_missing_corpus_or_model_raises_readable_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words, sentence in (
        ("tokenizer --corpus ./nowhere", "There is no folder './nowhere'"),
        ("target", "run `train tokenizer` first"),
        ("card", "There is no trained model"),
    ):
        assert cli.main(["train", *words.split()]) == 2
        assert sentence in capsys.readouterr().err
    with pytest.raises(corpus.CorpusError, match=r"has no maths\.jsonl\.xz"):
        list(corpus.documents(str(tmp_path), "maths"))
