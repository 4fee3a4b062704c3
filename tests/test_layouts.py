"""Heads in published layouts: each is recognized, loads completely, and computes the same."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pkgutil import resolve_name

import published
import pytest
import tiny
import torch
from driven import driven
from published import LLAMA3, PUBLISHED, TOKENS, WIDE, written
from safetensors.torch import save_file

import specviz
from specviz import engine
from specviz.catalog import Unsuitable, load_drafter, load_target, loading
from specviz.catalog.entry import entries
from specviz.drafters.common.checkpoint import layout_in, read_config
from specviz.drafters.contract import Case, check_drafter
from specviz.drafters.eagle.head import AUX, EagleHead
from specviz.models.memory import ModelCache
from specviz.models.target import Target
from specviz.settings.settings import Sampling, Settings
from specviz.trace.events import ModelCard

TREE = Settings(gamma=3, budget=20, fan_out=3, siblings=[3, 2])
FLAT = Sampling(1.3, top_k=5, top_p=0.97)
TEXT = [3, 5, 7, 9, 11, 1, 2, 4, 6, 8, 10, 3, 5, 1]
PLAIN, FAST = published.rates(10_000.0), published.rates(500_000.0)
SHIPPED = [entry for entry in entries() if entry.kind == "drafter" and entry.folder]
HEADS = [entry for entry in SHIPPED if entry.name != "draft-model"]
HOUSE = [entry for entry in HEADS if entry.made_for == "house"]


@pytest.fixture(autouse=True)
def _own_shelf(monkeypatch):
    """Clear loaded models between tests."""
    monkeypatch.setattr(loading, "HEADS", ModelCache())


def loaded(folder):
    return specviz.load_drafter(str(folder), published.target())


TITLES = {
    "eagle2": "EAGLE", "eagle3": "EAGLE-3", "p-eagle": "P-EAGLE", "medusa": "Medusa", "mtp": "MTP",
    "dflash": "DFlash",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("layout", PUBLISHED)
def test_published_head_is_recognised_and_lossless_and_guesses_as_published(layout, tmp_path):
    family, *_ = PUBLISHED[layout]
    tensors = written(layout, tmp_path / "some-head")
    assert layout_in(tmp_path / "some-head").title.split(" (")[0] == TITLES[family]
    drafter, target = loaded(tmp_path / "some-head"), published.target()
    assert drafter.name == drafter.card.family == family
    assert (drafter.card.name, drafter.made_for) == ("some-head", None)
    assert drafter.card.bytes == (tmp_path / "some-head" / "model.safetensors").stat().st_size
    ids = target.encode("red red", 24)
    settings = replace(TREE, sampling=Sampling(0.0), max_new_tokens=24)
    played = list(engine.rounds(target, drafter, ids, settings))
    text = [token for each in played for token in each.tokens]
    assert text == [step.token for step in engine.plain(target, ids, settings)]
    assert sum(len(each.tokens) - 1 for each in played) > 1  # guesses were accepted
    if family != "dflash":  # see test_dflash
        check_guesses(layout, drafter, tensors)


@pytest.mark.slow
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("layout", PUBLISHED)
def test_error_names_the_missing_or_extra_tensor(layout, every, tmp_path):
    """Leave out each tensor, or each fifth one."""
    names = sorted(written(layout, tmp_path / "whole").keys() - OPTIONAL[PUBLISHED[layout][0]])
    for name in names[::every]:
        written(layout, tmp_path / "less", drop=[name])
        with pytest.raises(Unsuitable) as caught:
            loaded(tmp_path / "less")
        said, part = str(caught.value), ".".join(name.split(".")[-2:])
        if name not in TELLING.get(layout, set()):
            assert "'less' lacks tensor: " in said
            assert part in said or layout.startswith("medusa of vLLM")  # renames tensors
        else:
            assert "'less' is neither a language model nor a head" in said
    written(layout, tmp_path / "more", more={"stranger.weight": torch.ones(2)})
    with pytest.raises(Unsuitable, match="'more' has an unexpected tensor: stranger"):
        loaded(tmp_path / "more")


# Tensors that identify a layout, and, by family, those that follow from others or are shared with
# the target.
TELLING = {"eagle without a bias": {"fc.weight"}}
COPIES = {f"model.layers.8.{name}.weight" for name in ("embed_tokens", "shared_head.head")}
FOLLOWING = {key: {"embed_tokens.weight", "t2d"} for key in ("eagle2", "eagle3", "p-eagle")}
OPTIONAL = {**FOLLOWING, "medusa": {"lm_head.weight"}, "mtp": COPIES, "dflash": set()}


def laws_of(layout, drafter, tensors, text, path):
    """Return the expected logits after `path`, computed by the published forward."""
    name, taps = layout.removeprefix("eagle3 "), TAPS.get(layout, (1, 3, 6))
    if layout.startswith("eagle3"):
        return published.eagle3_law(tensors, text, path, taps, **FORWARDS[name])
    if drafter.name == "eagle2":
        return published.eagle_law(tensors, text, path)
    if drafter.name == "mtp":
        return published.mtp_law(tensors, text, path)
    if drafter.name == "medusa":
        return published.medusa_laws(tensors, text)[len(path)]
    wheels = FAST if "speculators" in layout else published.rates(1e6)
    return published.peagle_laws(tensors, text, 3, taps, wheels)[len(path)]


# Outputs of layers, counted from 1. EAGLE's default for eight layers. SpecForge and DeepSpec write
# [0, 2, 6], counted from 0; the others write [1, 3, 6], as vLLM counts.
TAPS = {
    "eagle3 of SafeAILab": (2, 4, 5),
    "eagle3 of all tokens": (2, 4, 5),
    "eagle3 of SpecForge": (1, 3, 7),
    "eagle3 of DeepSpec": (1, 3, 4, 6, 7),
    "eagle3 of ModelOpt": (1, 3, 7),
    "eagle3 of ModelOpt, normed": (1, 3, 7),
    "p-eagle of SpecForge": (2, 4, 5),
}
SPECULATORS = {"wheels": FAST, "own": False, "before": True}
FORWARDS = {
    "of SafeAILab": {"wheels": PLAIN},
    "of all tokens": {"wheels": PLAIN},
    "of SpecForge": {"wheels": FAST},
    "of DeepSpec": {"wheels": published.rates(1e6)},
    "of ModelOpt": {"wheels": FAST},
    "of ModelOpt, normed": {"wheels": FAST},
    "of speculators": SPECULATORS,
    "with embeddings": {**SPECULATORS, "own": True},
    "with norm_before_fc": SPECULATORS,
    "with fc_norm": SPECULATORS,
    "with norm_output": {**SPECULATORS, "after": True},
    "of Qwen3's kind": SPECULATORS,
    "with scaled positions": {**SPECULATORS, "wheels": published.llama3_rates()},
}


def check_guesses(layout, drafter, tensors):
    """Compare every guess of drafts and its score with the published forward pass."""
    judged = deepest = 0
    settings = replace(TREE, candidates="greedy")
    for text, proposal in driven(published.target(), drafter, settings, TEXT):
        tree = proposal.tree
        for node, kids in enumerate(tree.children):
            path = [tree.tokens[n] for n in tree.path(node)[1:]]
            if not kids:
                continue
            check = laws_of(layout, drafter, tensors, text, path)
            scores, tokens = [proposal.score[k] for k in kids], [tree.tokens[k] for k in kids]
            assert scores == pytest.approx(check.topk(len(kids)).values.tolist(), abs=1e-4)
            assert scores == pytest.approx(check[tokens].tolist(), abs=1e-4)
            judged, deepest = judged + len(kids), max(deepest, len(path) + 1)
    assert judged > 12
    assert deepest == 3


@pytest.mark.nightly
def test_published_p_eagle_head_passes_every_contract_check(tmp_path):
    """Unlike the house head in test_contract, it has its own embeddings and three layers."""
    written("p-eagle of speculators", tmp_path / "head")
    prompts = ["abcabdabcabcabd", "hello hello hello", "red red red red"]
    drafter = load_drafter(str(tmp_path / "head"), published.target())
    check_drafter(Case(published.target, lambda target: drafter, prompts, [TREE], FLAT))


def test_shipped_heads_use_published_layouts():
    """The first layout that matches has the family of the catalogue's drafter."""
    for entry in HEADS:
        found = layout_in(entry.path)
        assert resolve_name(found.drafter).network is resolve_name(entry.drafter).network, entry


def test_folders_of_unknown_or_other_layouts_are_refused(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "own", "hidden_size": 24}))
    names = [f"trunk.{i}.weight" for i in range(8)]
    save_file({name: torch.ones(2) for name in names}, tmp_path / "model.safetensors")
    with pytest.raises(Unsuitable) as caught:
        loaded(tmp_path)
    said = str(caught.value)
    assert "the keys hidden_size, model_type, and its tensors are trunk.0.weight" in said
    assert said.endswith("trunk.5.weight and 2 more.")
    with pytest.raises(Unsuitable, match="neither a language model nor a head"):
        EagleHead.load(tmp_path, published.target())
    written("medusa", tmp_path / "heads")
    with pytest.raises(Unsuitable, match=r"has the layout of Medusa .*, not of eagle\."):
        EagleHead.load(tmp_path / "heads", published.target())
    twice = {"layers.0.norm.weight": torch.ones(2), "midlayer.norm.weight": torch.ones(2)}
    written("eagle3 of speculators", tmp_path / "twice", more=twice)
    with pytest.raises(Unsuitable, match="has a tensor twice"):
        loaded(tmp_path / "twice")


@cache
def other_target(**changes):
    """Return a target called 'other' that differs in part of its shape."""
    shape = {"vocab_size": TOKENS, "num_hidden_layers": 8, "hidden_size": WIDE, **changes}
    card = ModelCard("other", "causal-lm", 1, 1, None)
    return Target(tiny.llama(**shape), tiny.tokenizer(), card)


OWN_ROWS = ["eagle", "eagle3 with embeddings", "eagle3 of DeepSpec", "p-eagle of SpecForge"]


@pytest.mark.parametrize("layout", OWN_ROWS)
def test_text_may_contain_tokens_beyond_the_head_own_embeddings(layout, tmp_path):
    """Targets pad their vocabulary; every token of the prompt but two is beyond the head's."""
    wide = other_target(vocab_size=TOKENS + 3)
    written(layout, tmp_path / "head")
    drafter = load_drafter(str(tmp_path / "head"), wide)
    wide.eos, ids = (), [3, TOKENS + 2, 5, TOKENS, TOKENS + 1]
    settings = replace(TREE, sampling=Sampling(0.0), max_new_tokens=8)
    played = list(engine.rounds(wide, drafter, ids, settings))
    text = [token for each in played for token in each.tokens]
    assert text == [step.token for step in engine.plain(wide, ids, settings)]


def test_head_overwritten_on_disk_is_read_again(tmp_path):
    written("eagle", tmp_path / "head")
    first = loaded(tmp_path / "head")
    assert loaded(tmp_path / "head") is first
    written("eagle without a bias", tmp_path / "head")
    second = loaded(tmp_path / "head")
    assert (first.head.config.bias, second.head.config.bias) == (True, False)
    assert [value for _, value in loading.HEADS.entries()] == [second]


@pytest.mark.parametrize("layout", PUBLISHED)
def test_head_for_a_target_of_another_shape_raises_readable_error(layout, tmp_path):
    written(layout, tmp_path / "head")
    family = PUBLISHED[layout][0]
    with pytest.raises(Unsuitable, match="reads states of width 24; those of 'other' have 48"):
        load_drafter(str(tmp_path / "head"), other_target(hidden_size=48))
    if layout not in ("medusa of TGI", "mtp"):  # whose files do not specify it
        with pytest.raises(Unsuitable, match="knows 12 tokens; 'other' knows 11"):
            load_drafter(str(tmp_path / "head"), other_target(vocab_size=11))
    shallow = other_target(num_hidden_layers=2)
    if family in ("eagle2", "medusa"):  # these read the last state only
        assert load_drafter(str(tmp_path / "head"), shallow).name == family
    else:
        with pytest.raises(Unsuitable, match=r"this target has 1 to 2|target of 8 layers"):
            load_drafter(str(tmp_path / "head"), shallow)


@pytest.mark.parametrize(
    ("layout", "file"),
    [("eagle3 of SafeAILab", "pytorch_model.bin"), ("medusa", "medusa_lm_head.pt")],
)
def test_pickled_head_loads_only_if_it_contains_nothing_but_weights(layout, file, tmp_path):
    written(layout, tmp_path / "whole")
    written(layout, tmp_path / "pickled", file=file)
    one, other = (loaded(tmp_path / name).head.state_dict() for name in ("whole", "pickled"))
    assert all(torch.equal(one[key], other[key]) for key in one)
    assert loaded(tmp_path / "pickled").card.bytes == (tmp_path / "pickled" / file).stat().st_size
    written(layout, tmp_path / "evil", file=file)
    torch.save({"fc.weight": Evil(), "0.0.linear.weight": Evil()}, tmp_path / "evil" / file)
    with pytest.raises(Unsuitable, match="'evil' has more than plain weights in its pickled"):
        loaded(tmp_path / "evil")


class Evil:
    def __reduce__(self):
        return (exec, ("raise RuntimeError('this must not run')",))


@pytest.mark.parametrize(
    ("layout", "changes", "sentence"),
    [
        ("eagle3 of SafeAILab", {AUX: [1, 2, 3]}, "differs by one between programs"),
        ("eagle3 of SpecForge", {"norm_output": False}, "no norm before its output head"),
        ("eagle3 of SpecForge", {"eagle_config": [1]}, "eagle_config is not a JSON object"),
        ("eagle3 of SpecForge", {"eagle_config": {AUX: "low"}}, "are not layer numbers: 'low'"),
        ("eagle3 of SpecForge", {"eagle_config": {"use_aux_hidden_state": False}}, "no inner"),
        ("eagle3 of speculators", {AUX: [1, 2, 9]}, "this target has 1 to 8"),
        ("eagle3 of speculators", {AUX: 3}, "taps layers 3"),
        ("eagle3 of speculators", {"transformer_layer_config": None}, "no transformer_layer"),
        ("eagle3 of SafeAILab", {"num_hidden_layers": 2}, "has 2 layers; EAGLE heads have one"),
        ("eagle3 of SafeAILab", {"rope_scaling": {"type": "dynamic"}}, r"positions \(dynamic\)"),
        ("eagle3 of SafeAILab", {"rope_scaling": {"full": {}}}, "differ between kinds"),
        ("eagle3 of DeepSpec", {"target_layer_ids": None}, "target_layer_ids are not layer num"),
        ("eagle3 of DeepSpec", {"num_target_layers": 36}, "a target of 36 layers"),
        ("p-eagle of speculators", {"mask_token_id": None}, "mask_token_id is not a token: None"),
        ("p-eagle of SpecForge", {"num_hidden_layers": 4}, r"lacks tensor: later\.2"),
        ("p-eagle of SpecForge", {"num_hidden_layers": "two"}, "num_hidden_layers must be"),
        ("eagle3 of SafeAILab", {"draft_vocab_size": "nine"}, "draft_vocab_size cannot be 'nine'"),
        ("eagle3 of SafeAILab", {"num_key_value_heads": 3}, "heads of its attention do not fit"),
        ("eagle3 of SafeAILab", {"rms_norm_eps": "tiny"}, "rms_norm_eps cannot be 'tiny'"),
        ("eagle", {"head_dim": 0}, "heads of its attention do not fit"),
        ("eagle", {"num_attention_heads": 0}, "no whole number for num_attention_heads"),
        ("p-eagle of SpecForge", {"speculative_tokens": 0}, "speculative_tokens must be"),
        ("mtp", {"rope_parameters": LLAMA3}, "scales its rotary positions, which is not supported"),
        ("mtp", {"hidden_act": "gelu"}, "uses gelu in its MLP"),
        ("medusa", {"medusa_num_heads": 4}, r"lacks tensor: 3\.0\.linear"),
    ],
)
def test_unsupported_variant_of_a_layout_is_refused(layout, changes, sentence, tmp_path):
    written(layout, tmp_path / "head", **changes)
    with pytest.raises(Unsuitable, match=sentence):
        loaded(tmp_path / "head")


@pytest.mark.slow
@pytest.mark.parametrize("entry", HOUSE, ids=lambda entry: entry.name)
def test_shipped_head_configs_round_trip(entry, tmp_path):
    load_drafter(entry.name, load_target("house")).head.save(tmp_path)
    assert read_config(tmp_path) == read_config(entry.path)


def test_shipped_head_configs_have_the_keys_that_vllm_reads():
    said = {entry.name: read_config(entry.path) for entry in HEADS}
    for name, kind in (
        ("eagle", "LlamaForCausalLM"),  # which becomes EagleLlamaForCausalLM there
        ("eagle3", "LlamaForCausalLMEagle3"),
        ("p-eagle", "LlamaForCausalLMEagle3"),  # vLLM renames PEagleDraftModel, then refuses it
        ("dflash", "DFlashDraftModel"),
        ("medusa", "MedusaModel"),
    ):
        assert said[name]["architectures"] == [kind]
    for name in ("eagle", "eagle3", "p-eagle", "dflash"):
        assert said[name]["max_position_embeddings"] == 1024
        assert said[name]["tie_word_embeddings"] is False
    assert said["eagle3"][AUX] == said["eagle3"]["tap_layers"] == [2, 6, 9]
    assert said["medusa"]["model_type"] == "medusa"
    assert (said["medusa"]["hidden_size"], said["medusa"]["vocab_size"]) == (256, 4096)
