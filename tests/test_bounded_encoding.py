"""Hostile tokenizers: they are stopped at limits of time and memory, and errors are sentences."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from math import inf
from pathlib import Path

import gradio as gr
import pytest
import tiny
from tokenizers import Regex, normalizers, pre_tokenizers

from specviz.models import bounded_encoding, errors
from specviz.models.bounded_encoding import Policy, check_loading, is_bound
from specviz.models.errors import BadPrompt, Unsuitable
from specviz.models.tokenizer import PromptEncoder
from specviz.shipped import ASSETS
from specviz.ui.task import Machine, Task
from specviz.ui.worker import Worker

PATTERN = pre_tokenizers.Split(Regex("(a+)+$"), "isolated")  # exponential time, then a panic
EXPANSION = normalizers.Sequence([normalizers.Replace("a", "a" * 1000)] * 3)
TEXTS = ["the cat sat", "naïve 猫 😀", "<|im_start|>the", "  two  spaces\n", ""]


@pytest.fixture
def bound(monkeypatch):
    monkeypatch.setattr(Policy, "bound", True)


def hostile(**parts):
    words = deepcopy(tiny.chat_tokenizer())  # other tests share that one
    for name, part in parts.items():
        setattr(words.backend_tokenizer, name, part)
    return words


def test_bounded_tokenizer_encodes_like_one_in_this_process(bound, monkeypatch):
    ours = PromptEncoder(words := tiny.chat_tokenizer())
    marked = f"{ours.mark('<|im_start|>')}the cat"
    found = [ours.encode(text) for text in TEXTS], ours.encode_marked(marked)
    assert ours._bounded is not None
    process = ours._bounded._process
    monkeypatch.setattr(Policy, "bound", False)
    other = PromptEncoder(words)
    marked = f"{other.mark('<|im_start|>')}the cat"
    assert other._bounded is None
    expected = [other.encode(text) for text in TEXTS], other.encode_marked(marked)
    assert found[0] == expected[0]
    assert [each.id for each in found[1]] == [each.id for each in expected[1]]
    assert [each.special for each in found[1]] == [each.special for each in expected[1]]
    del ours
    assert process.wait(5) != 0, "it ends with its tokenizer"


@pytest.mark.parametrize(
    ("parts", "text"),
    [({"pre_tokenizer": PATTERN}, "a" * 60 + "b"), ({"normalizer": EXPANSION}, "aaaaaa")],
)
def test_tokenizer_that_needs_too_much_is_stopped_and_then_used_again(bound, parts, text):
    encoder = PromptEncoder(words := hostile(**parts))
    assert encoder.encode("the")
    with pytest.raises(BadPrompt, match=r"^The tokenizer of this model .*\.$"):
        encoder.encode(text)
    assert encoder.encode("the")
    assert words


def test_panic_of_a_tokenizer_in_this_process_is_a_readable_error():
    encoder = PromptEncoder(words := hostile(pre_tokenizer=PATTERN))
    with pytest.raises(BadPrompt, match="fails on this text"):
        encoder.encode("a" * 60 + "b")
    assert words


def test_tokenizer_that_cannot_be_loaded_is_refused_before_it_is_loaded_here(
    bound, tmp_path, monkeypatch
):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(Unsuitable, match="'hostile' cannot be loaded in limited time and memory"):
        check_loading("hostile", tmp_path)
    (tmp_path / "tokenizer.json").write_text(tiny.tokenizer().backend_tokenizer.to_str())
    check_loading("harmless", tmp_path)
    monkeypatch.setattr(bounded_encoding, "ASSETS", tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    check_loading("shipped", tmp_path)


def test_only_tokenizers_of_others_are_bound_and_only_if_visitors_can_name_models(monkeypatch):
    words = deepcopy(tiny.tokenizer())
    monkeypatch.setattr(Policy, "bound", False)
    assert not is_bound(words)
    bounded_encoding.bind_foreign_tokenizers()
    for path, expected in ((ASSETS / "models" / "house", False), (Path("/models/a"), True)):
        words.name_or_path = str(path)
        assert is_bound(words) is expected


class PanicException(BaseException):
    """Like the errors of libraries in Rust."""


def panic(context):
    raise PanicException("called `Option::unwrap()` on a `None` value")
    yield


def test_job_ends_with_a_sentence_if_a_library_panics():
    assert errors.is_panic(PanicException())
    runs = Worker(Machine(), inf)
    with pytest.raises(gr.Error, match="An error on the server ended this run"):
        asyncio.run(asyncio.wait_for(runs.whole(Task(panic, 1.0), "me"), 10))
    assert len(runs.line) == 0
