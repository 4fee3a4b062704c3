"""Sliding windows: a text may be as long as the context, and equals that of `generate`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import pytest
import tiny
import torch
import windowed
from transformers import Llama4TextConfig
from windowed import CONTEXT, KINDS, WINDOW

from specviz import engine
from specviz.adapters import transformers as adapter
from specviz.catalog import Unsuitable, load_target
from specviz.drafters.common.tree_reader import TreeReader
from specviz.drafters.layerskip import LayerSkip
from specviz.drafters.lookahead import Lookahead
from specviz.drafters.ngram import NGram
from specviz.drafters.suffix import Suffix
from specviz.models import attention
from specviz.models.attention import context_length, layer_masks
from specviz.models.checkpoint import check_config
from specviz.models.errors import BadPrompt
from specviz.models.passes import CaptureSpec, ExtraRows, PrecomputedPrefix
from specviz.settings.settings import Sampling, Settings
from specviz.verification.transfer import UploadBatch
from specviz.verification.tree import DraftTree

NEW = 24
GREEDY = Settings(Sampling(temperature=0), gamma=4, max_new_tokens=NEW)
BRANCHED = replace(GREEDY, siblings=[3, 2])
PROMPTS = [[3, 5, 7], [5 + (7 * i) % 90 for i in range(40)]]  # within the window, and past it
TREE = DraftTree((11, 12, 13, 14, 15, 16), (-1, 0, 0, 1, 2, 3))


@cache
def generated(kind, prompt, window=WINDOW):
    """Return the text of transformers' generate with the model's own cache."""
    made = windowed.model(kind) if window == WINDOW else KINDS[kind](sliding_window=window)
    ids = torch.tensor([prompt])
    made.generation_config.eos_token_id = None
    out = made.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, do_sample=False
    )
    return out[0, len(prompt) :].tolist()


def target(kind):
    made = tiny.target(windowed.model(kind))
    made.eos = ()
    return made


def alone(model, tokens):
    """Return logits after `tokens`, by the model's own plain forward."""
    with torch.inference_mode():
        return model(torch.tensor([tokens]), use_cache=False).logits[0, -1]


def close(one, other):
    torch.testing.assert_close(one, other, rtol=1e-4, atol=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize("prompt", PROMPTS, ids=len)
@pytest.mark.parametrize("kind", KINDS)
def test_plain_decoding_with_a_sliding_window_equals_generate(kind, prompt):
    text = [step.token for step in engine.plain(target(kind), prompt, GREEDY)]
    assert text == generated(kind, tuple(prompt))
    assert text != generated(kind, tuple(prompt), CONTEXT), "these tests would show nothing"
    assert len(set(text)) > NEW // 4


DRAFTERS = {
    "ngram": (lambda _: NGram(), GREEDY),
    "suffix": (lambda _: Suffix(), replace(GREEDY, suffix_factor=4.0)),
    "lookahead": (lambda _: Lookahead(), replace(GREEDY, lookahead_window=4)),
    "draft": (lambda model: tiny.draft(tiny.blurred(model, 0.03)), BRANCHED),
    "twin": (tiny.draft, replace(GREEDY, gamma=6)),
}


def kinds_and_drafters():
    """Yield every pair; by default only those with one kind or with the draft model are tested."""
    for kind, drafter in product(KINDS, DRAFTERS):
        usual = kind == "gemma3" or drafter == "draft"
        yield pytest.param(kind, drafter, marks=() if usual else pytest.mark.nightly)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "drafter"), list(kinds_and_drafters()))
def test_speculative_decoding_with_a_sliding_window_equals_generate(kind, drafter):
    make, settings = DRAFTERS[drafter]
    made = target(kind)
    played = [*engine.rounds(made, make(made.model), list(PROMPTS[0]), settings)]
    assert [t for each in played for t in each.tokens] == generated(kind, tuple(PROMPTS[0]))
    if drafter == "twin":  # with itself as draft model, it accepts all tokens
        assert all(len(each.tokens) == settings.gamma + 1 for each in played[1:-1])
    if drafter == "draft":
        assert len({len(each.tokens) for each in played[1:]}) > 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_text_may_be_longer_than_the_sliding_window_but_not_than_the_context(kind, tmp_path):
    folder = tiny.save(windowed.model(kind), tmp_path / kind)
    made = load_target(str(folder), "cpu")
    assert made.max_length == CONTEXT
    made.check_fits(range(CONTEXT - 4), 4)
    with pytest.raises(BadPrompt, match=f"more than the {CONTEXT} tokens that"):
        made.check_fits(range(CONTEXT - 3), 4)
    text = [step.token for step in engine.plain(made, PROMPTS[1], GREEDY)]
    assert text == generated(kind, tuple(PROMPTS[1]))[: len(text)]
    assert len(text) > WINDOW


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("kind", ["gemma3", "mistral", "qwen2"])
def test_tree_scores_across_the_sliding_window_equal_those_of_single_paths(kind, attention):
    model = KINDS[kind]()
    model.set_attn_implementation(attention)
    run = tiny.target(model).start(CaptureSpec())
    context = PROMPTS[1][: WINDOW - 1]
    run.prefill(context)
    sees = torch.tensor([[True, *[False] * 5, True, False], [True, *[False] * 5, True, True]])
    scores = run.score(TREE, ExtraRows((21, 22), (1, 2), sees))
    for node in range(len(TREE)):
        path = [TREE.tokens[n] for n in TREE.path(node)]
        close(scores.logits[node], alone(model, [*context, *path]))
    close(scores.extra_rows.logits[1], alone(model, [*context, 11, 21, 22]))
    run.keep(TREE.path(5))
    kept = [*context, *(TREE.tokens[n] for n in TREE.path(5))]
    close(run.score(DraftTree((42,), (-1,))).logits[0], alone(model, [*kept, 42]))


@pytest.mark.parametrize("kind", KINDS)
def test_draft_model_reads_a_tree_beyond_its_sliding_window(kind):
    model, context = windowed.model(kind), PROMPTS[1]
    reader = TreeReader(model, "draft")
    tree = DraftTree((context[-1], 12, 13, 14, 15, 16), (-1, 0, 0, 1, 1, 2))
    with torch.inference_mode():
        close(reader.read_text(context)[0], alone(model, context))
        for nodes in ([1, 2], [3, 4, 5]):
            words = torch.tensor([tree.tokens[node] for node in nodes])
            above = [tree.parents[node] for node in nodes]
            read = reader.plan_level(nodes, above, UploadBatch(model.device))(words)
            for node, logits in zip(nodes, read, strict=True):
                path = [tree.tokens[n] for n in tree.path(node)]
                close(logits, alone(model, [*context[:-1], *path]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mistral", "qwen2"])
def test_early_exit_continues_correctly_beyond_the_sliding_window(kind):
    made = target(kind)
    plain, run = made.start(CaptureSpec()), made.start(CaptureSpec())
    for each in (plain, run):
        each.prefill(PROMPTS[1])
    early = run.shallow(TREE.tokens[:4], TREE.depths[:4], TREE.mask()[:4, :4], 3)
    close(run.score(TREE, precomputed=PrecomputedPrefix(3, early)).logits, plain.score(TREE).logits)
    settings = replace(BRANCHED, exit_layer=3)
    played = engine.rounds(made, LayerSkip(made), list(PROMPTS[1]), settings)
    text = [t for each in played for t in each.tokens]
    assert text == generated(kind, tuple(PROMPTS[1]))


@pytest.mark.parametrize("kind", ["gemma2", "gemma3", "gpt_oss"])
def test_layers_that_receive_wrong_masks_are_detected(kind):
    model = windowed.model(kind)
    windows = adapter.sliding_windows(model.config)
    assert adapter.passes_masks_on(model, windows)
    other = tuple(not slides for slides in windows.sliding)
    for changed in ({"sliding": other}, {"sliding": other[1:]}, {"by_kind": False}):
        assert not adapter.passes_masks_on(model, replace(windows, **changed))
    single = windowed.model("mistral")
    by_kind = replace(adapter.sliding_windows(single.config), by_kind=True)
    assert not adapter.passes_masks_on(single, by_kind)
    assert not any(
        layer._forward_pre_hooks for layer in (*model.model.layers, *single.model.layers)
    )


def test_sliding_window_in_a_config_is_ignored_if_the_network_has_none():
    """Llama ignores a window in its config."""
    model = tiny.llama(sliding_window=WINDOW)
    assert layer_masks(model).windows is None
    assert tiny.target(model).max_length == WINDOW


def test_text_is_limited_to_the_sliding_window_if_masks_cannot_be_passed(monkeypatch):
    monkeypatch.setattr(attention, "passes_masks_on", lambda *_: False)
    model = windowed.gemma3()
    made = tiny.target(model)
    assert made.max_length == WINDOW
    with pytest.raises(
        BadPrompt, match="the 8 tokens that the target can see \\(the size of its sliding window\\)"
    ):
        made.check_fits(range(8), 1)
    run = made.start(CaptureSpec())
    run.prefill([3, 5])
    path = [TREE.tokens[n] for n in TREE.path(5)]
    close(run.score(TREE).logits[5], alone(model, [3, 5, *path]))
    assert context_length(model) == WINDOW


def test_disabled_sliding_window_does_not_limit_the_text():
    off = windowed.qwen2(use_sliding_window=False)
    assert layer_masks(off).windows is None
    assert context_length(off) == CONTEXT
    off.config.sliding_window = WINDOW  # as in Qwen's published files
    assert adapter.sliding_windows(off.config) is None
    assert adapter.sliding_windows(windowed.qwen2(max_window_layers=4).config) is None
    assert adapter.sliding_windows(tiny.llama().config) is None


def test_chunked_attention_is_refused():
    config = Llama4TextConfig(num_hidden_layers=4)
    assert adapter.attends_in_chunks(config)
    with pytest.raises(Unsuitable, match="'four' attends within chunks of the text"):
        check_config("four", config)
    whole = Llama4TextConfig(num_hidden_layers=2, layer_types=["full_attention"] * 2)
    assert not adapter.attends_in_chunks(whole)
    check_config("four", whole)
