"""Chat templates: the text of transformers, or an early error, within little memory."""

from __future__ import annotations

import resource
from time import monotonic

import chat_templates
import pytest
import tiny

from specviz.models import chat
from specviz.models.chat import (
    TemplateFailed,
    TemplateStopped,
    read_chat,
    render_template,
    turn_end,
)
from specviz.models.errors import BadPrompt
from specviz.trace.chat import Turn

SYSTEM = {"role": "system", "content": " Be brief. "}
USER = {"role": "user", "content": "Where is\n\nthe <cat>? é 🦊 'x' \"y\" </think>"}
ANSWER = {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nOn the mat."}
TALKS = {
    "a question": [USER],
    "a system text": [SYSTEM, USER],
    "several turns": [USER, ANSWER, USER],
    "several turns and a system text": [SYSTEM, USER, ANSWER, USER, ANSWER],
    "an answer first": [ANSWER, USER],
    "an empty text": [{"role": "user", "content": ""}],
}
MOST_MEMORY = 50 << 20
MOST_SECONDS = 20.0  # seconds of wall-clock time while other tests run; usually 1


def tokenizer(template):
    made = tiny.tokenizer_of(tiny.TEXT * 4, tiny.START, tiny.STOP)
    made.chat_template = template
    return made


def transformers_text(words, talk, answer):
    """Return transformers' rendering, or that it fails."""
    try:
        return words.apply_chat_template(talk, tokenize=False, add_generation_prompt=answer)
    except Exception as error:
        return TemplateFailed(str(error))


@pytest.mark.parametrize("name", chat_templates.KNOWN)
def test_rendered_chat_template_equals_transformers(name):
    words = tokenizer(chat_templates.KNOWN[name])
    asked = [(talk, answer) for talk in TALKS.values() for answer in (True, False)]
    theirs = [transformers_text(words, *each) for each in asked]
    assert sum(isinstance(each, str) for each in theirs) >= 6, "else the test would show little"
    for ours, other in zip(render_template(words, asked), theirs, strict=True):
        assert type(ours) is type(other)
        assert str(ours) == str(other)


def test_special_tokens_are_variables_and_renderings_are_cached_unless_they_have_a_date():
    for template, cached in (
        ("{{ bos_token }}|{{ eos_token }}|{{ pad_token is defined }}|{{ tools }}", 1),
        ("{{ strftime_now('%Y-%m-%d') }}", 0),
    ):
        words = tokenizer(template)
        chat._run.cache_clear()
        found = render_template(words, [([USER], False)])
        assert found == [transformers_text(words, [USER], False)]
        assert chat._run.cache_info().currsize == cached


REFUSED = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{% set _ = messages.append(1) %}",
    "{% set ns = namespace() %}{% set ns['__class__'] = 1 %}",
    "{{ dict.__class__ }}{{ dict.__call__.__globals__ }}",
    "{% include 'x' %}",
    "{{ raise_exception('No.') }}",
    "{{ nobody.knows }}",
    "{% if %}",
    "{{ 1 // 0 }}",
]
PRIVATE = "{% set ns = namespace(_a=1) %}"  # which older releases of transformers allow


@pytest.mark.slow
def test_templates_that_transformers_refuses_are_refused():
    for template in [*REFUSED, PRIVATE]:
        words = tokenizer(template)
        theirs = transformers_text(words, [USER], True)
        assert isinstance(theirs, TemplateFailed) or template == PRIVATE
        (found,) = render_template(words, [([USER], True)])
        assert isinstance(found, TemplateFailed), template


def refusal(template):
    """Return the error for a template, and how much this process's memory grew."""
    words = tokenizer(template)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadPrompt) as refused:
        read_chat("tiny", words, [Turn("user", "Where is the cat?")])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return str(refused.value), grown << 10


LIMITS = {  # parts of the error for some of the templates
    "nested loops": "did not finish within a second, so it was stopped.",
    "a long text": "needs more than 512 MiB of memory",
    "recursion": "calls itself endlessly",
    "a long output": "writes 99,999,000 characters",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", chat_templates.HOSTILE)
def test_hostile_template_raises_readable_error_that_names_the_limit(name):
    since = monotonic()
    said, grown = refusal(chat_templates.HOSTILE[name])
    assert monotonic() - since < MOST_SECONDS
    assert grown < MOST_MEMORY
    assert said.startswith("The chat template of tiny ")
    assert LIMITS.get(name, "") in said
    assert said.endswith(".")
    assert "\n" not in said
    assert len(said) < 300


@pytest.mark.slow
def test_model_with_an_endless_template_still_loads():
    words = tokenizer(chat_templates.HOSTILE["nested loops"])
    assert turn_end(words) is None
    assert tiny.target(words=words).eos == (0,)


def test_rendering_process_that_does_not_respond_is_stopped(monkeypatch):
    monkeypatch.setattr(chat, "WALL_CLOCK", 0.01)
    chat._run.cache_clear()
    with pytest.raises(TemplateStopped, match=r"ran for 0\.01 seconds, so it was stopped"):
        render_template(tokenizer("{{ messages[0].content }}!"), [([USER], True)])
