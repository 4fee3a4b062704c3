"""Lessons: every number is read from a run, every claim about it is checked, and translations have
the same numbers and steps.
"""

import copy
import re

import pytest
import torch
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from specviz.frames.frame import frame_at
from specviz.frames.scene import Scene
from specviz.texts.languages import ENGLISH, check_language, languages
from specviz.trees.ranking import rank_all_ways
from specviz.trees.rounding import EXAMPLES, as_position
from specviz.ui.learn import lessons, send_lesson
from specviz.ui.learn.lessons import BadLesson, inline, lesson, titles
from specviz.ui.learn.values import bfloat16, find_frame, preset_word, rounded_pair
from specviz.ui.lossless.sandbox import WORDS
from specviz.ui.routes import UI_FOLDER
from specviz.ui.step import recorded
from specviz.ui.step.tour import STOPS
from specviz.verification.published_rules import GALLERY, find_case_study

NAMES = [title["id"] for title in titles()]
# Language and lesson.
TRANSLATED = sorted((file.parent.name, file.stem) for file in lessons.FOLDER.glob("*/*.md"))
# A number of a run, such as 0.75, 3.3 ms or 12%. Papers' sections and temperatures are not.
NUMBER = re.compile(r"(?<![\d./\w])\d+\.\d+|\d+ ?%|\d ms")
ALLOWED = {"1.15.1", "3.8", "0.7", "A.1"}

HEAD = '+++\ntitle = "T"\nquestion = "Q"\nminutes = 2\ntrace = "01-chain"\n+++\n'


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a lesson into a new folder and return it."""
    monkeypatch.setattr(lessons, "FOLDER", tmp_path)
    lesson.cache_clear()
    yield lambda steps: ((tmp_path / "own.md").write_text(HEAD + steps), lesson("own"))[1]
    lesson.cache_clear()


def flat(paragraph):
    """Return a paragraph as a reader sees it."""
    return "".join(
        part
        if isinstance(part, str)
        else next(str(part[key]) for key in ("n", "b", "i", "a", "w", "t") if key in part)
        for part in paragraph
    )


@pytest.mark.slow
def test_lessons_are_listed_below_headings_in_order():
    groups = [title["group"] for title in titles()]
    assert [*dict.fromkeys(groups)] == ["start", "drafters", "limits"]
    assert groups == sorted(groups, key=["start", "drafters", "limits"].index)
    assert [int(name[:2]) for name in NAMES] == [*range(1, len(NAMES) + 1)]
    assert [lesson(name)["next"] for name in NAMES] == [*NAMES[1:], ""]
    assert all(set(groups) <= known["words"].keys() for known in languages().values())


def test_every_lesson_has_its_parts_and_times_and_no_number_of_its_own():
    assert sorted(name[:2] for name in NAMES) == [f"{number:02d}" for number in range(1, 15)]
    for name in NAMES:
        found = lesson(name)
        assert 1 <= len(found["steps"]) <= 8, name
        assert any("predict" in step for step in found["steps"]), name
        assert any("attempt" in step for step in found["steps"]), name
        assert found["sources"], name
        # A class takes longer than a reader; the plans have at most ten minutes for a lesson.
        minutes = sum(minutes_of(step) for step in found["steps"])
        assert 2 <= found["minutes"] <= min(5, minutes), name
        assert minutes <= 10, name
        assert all(asked_before_shown(step) for step in found["steps"]), name
    for name in (*NAMES, *map("/".join, TRANSLATED)):
        text = (lessons.FOLDER / f"{name}.md").read_text()
        text = re.sub(r"\{\{.*?\}\}|\(https://\S+\)|holds = .*", "", text)
        assert {number.group() for number in NUMBER.finditer(text)} <= ALLOWED, name


def minutes_of(step):
    """Return the time of a step in class, with which its speaker notes end."""
    *said, last = map(flat, step["notes"])
    assert len("".join(said)) > 80, step["title"]
    time = re.fullmatch(r"Time: (\d) minutes?\.", last)
    assert time, f"{step['title']} does not say how long it takes"
    return int(time[1])


def asked_before_shown(step):
    """Return whether a question about a verdict is asked at a step before it."""
    then = step.get("predict", {}).get("then")
    if then is None:
        return True
    place, trace = step["place"], recorded.trace(then["trace"])
    order = [
        (each.number, frame_at(scene, moment)["step"]["id"])
        for index, each in enumerate(trace.rounds)
        if each.number in (place["round"], then["round"])
        for scene in [Scene.of(trace, index)]
        for moment in scene.steps
    ]
    asked, shown = (order.index((at["round"], at["step"])) for at in (place, then))
    return place["trace"] == then["trace"] and asked < shown


@pytest.mark.slow
def test_places_cases_and_examples_of_lessons_exist():
    steps = [step for name in NAMES for step in lesson(name)["steps"]]
    wild = [step for step in steps if "case" in step]
    assert {step["case"] for step in wild} <= {study.key for study in GALLERY}
    assert len({step["case"] for step in wild}) == 6
    assert {step["tab"] for step in wild} == {"Lossless?"}
    assert {step["look"] for step in wild} <= {"#sv-part-gallery", "#sv-gallery-rule"}
    examples = {step["example"] for step in steps if "example" in step}
    assert examples <= {each.name for each in EXAMPLES}
    style = (UI_FOLDER / "learn/80-learn.css").read_text()
    assert set(re.findall(r"\[data-hides~=(\w+)\]", style)) == set(lessons.HIDEABLE)


def test_numbers_in_a_lesson_equal_those_of_the_caption_at_its_step(write):
    values = "{{ token }} {{ p }} {{ q }} {{ threshold }} {{ u }}"
    (step,) = write(f'## A\n```toml\nat = "1 judge-5"\n```\n{values}')["steps"]
    sentence = find_frame("01-chain", 1, "judge-5")["caption"]["parts"]
    shown = [part for part in sentence if not isinstance(part, str) and {"n", "w"} & part.keys()]
    assert [part for part in step["text"][0] if part != " "] == shown[:5]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ('holds = "run.numbers.speedup < 1"', "does not satisfy 'run.numbers.speedup < 1'"),
        ('at = "1 judge-9"', "has no step judge-9 in round 1"),
        ('at = "99 draw"', "has no step draw in round 99"),
        ('tab = "Play"', "there is no tab 'Play'"),
        ('preset = "none"', "the sandbox has no preset 'none'"),
        ('preset = "darts"\nrule = "none"', "the sandbox has no rule 'none'"),
        ('hides = ["answer"]', "a step cannot hide answer"),
        ('[predict]\nask="a"\noptions=["b"]\nanswer=1\nwhy="c"', "no option is number 1"),
    ],
)
def test_lesson_with_a_false_claim_or_reference_is_an_error(write, step, message):
    with pytest.raises(BadLesson, match=re.escape(message)):
        write(f"## A\n```toml\n{step}\n```\nText.")


def sent(name, lang="en"):
    """Return what the page gets when it opens a lesson."""
    client = TestClient(Starlette(routes=[Route("/", send_lesson)]))
    return client.get("/", params={"name": name, "lang": lang}).json()


def test_unknown_lesson_or_variable_is_an_error(write):
    with pytest.raises(Exception, match="'speed' is undefined"):
        write("## A\n\n{{ speed }}")
    for name in ("", "..", "../README", "15-none"):
        assert "There is no lesson of this name" in sent(name)["problem"]


def test_lesson_markup_is_parsed_into_parts():
    link = {"a": "d", "href": "https://example.org/e"}
    found = inline("a **b** *c* [d](https://example.org/e) **f")
    assert found == ["a ", {"b": "b"}, " ", {"i": "c"}, " ", link, " **f"]
    assert inline("[d](javascript:alert(1))") == ["[d](javascript:alert(1))"], "stays text"


@pytest.mark.slow
def test_numbers_of_a_replacement_from_p_equal_those_of_the_gallery_case():
    study = find_case_study("resample-from-p")
    out, p = study.result().first()
    for at, name in enumerate(WORDS):
        word = preset_word("example", name.strip())
        assert (word["p"], word["q"]) == (f"{p[at]:.2f}", f"{study.q[at]:.2f}")
        assert float(word["out"]) == pytest.approx(out[at], abs=6e-4)
        too_often = float(word["given"]) > float(word["lacks"])
        assert too_often == (out[at] > p[at]) == (name != " cat")


@pytest.mark.slow
def test_rounding_example_of_a_lesson_equals_that_of_the_ranking_lab():
    for value in (0.01, 0.295, -4.605170186, 1.00390625, 1.01171875):
        assert bfloat16(value) == torch.tensor(value).bfloat16().item()
    example = next(each for each in EXAMPLES if each.name == "deep-sum")
    ranked = {one.way: one for one in rank_all_ways(as_position(example), example.parameters)}
    totals = ranked["sum bfloat16"].grown.growth.totals[2:]
    pair = rounded_pair("deep-sum")
    assert [f"{total:.4f}".replace("-", "−") for total in totals] == [pair["tie"]] * 2
    products = ranked["product bfloat16"].grown.growth.totals[2:]
    assert (len(set(products)) > 1) == pair["products_differ"]


# Translations.

ENGLISH_STEPS = """## A
```toml
at = "1 judge-5"
look = ".sv-panel"
try = "drag the coin."
[predict]
ask = "Is {{ u }} below it?"
options = ["Yes", "No, {{ threshold }}"]
answer = 1
why = "See [here](https://example.org)."
```
{{ token }} has {{ p }}.

## B

The end.
"""
GERMAN = """+++
title = "T (de)"
question = "F"
+++

## A (de)
```toml
of = "A"
try = "Ziehe die Münze."
[predict]
ask = "Liegt {{ u }} darunter?"
options = ["Ja", "Nein, {{ threshold }}"]
why = "Siehe [hier](https://example.org)."
```
{{ p }} hat {{ token }}.

## B (de)
```toml
of = "B"
```

Das Ende.
"""


@pytest.fixture
def german(write, tmp_path):
    """Write an English lesson and its German translation, and return the translated lesson."""
    write(ENGLISH_STEPS)
    (tmp_path / "de").mkdir()
    return lambda text: ((tmp_path / "de/own.md").write_text(text), lesson("own", "de"))[1]


def numbers(paragraphs):
    """The numbers and tokens of paragraphs, in any order."""
    parts = [part for paragraph in paragraphs for part in paragraph if not isinstance(part, str)]
    return sorted(str(part) for part in parts if "n" in part or "w" in part)


def test_translated_lesson_has_its_own_texts_and_the_english_structure(german):
    found = german(GERMAN)
    assert (found["lang"], found["title"], found["languages"]) == ("de", "T (de)", ["en", "de"])
    first, second = found["steps"]
    assert (first["title"], second["title"]) == ("A (de)", "B (de)")
    assert (first["look"], first["place"]["step"]) == (".sv-panel", "judge-5")
    assert first["attempt"] == ["Ziehe die Münze."]
    assert first["predict"]["answer"] == 1
    assert first["predict"]["options"][0] == ["Ja"]
    assert numbers(first["text"]) == numbers(lesson("own")["steps"][0]["text"])
    assert lesson("own")["title"] == "T"


@pytest.mark.parametrize(
    ("text", "instead", "message"),
    [
        (GERMAN[GERMAN.index("## B") :], "", "these steps are missing: B"),
        ('of = "B"', 'of = "C"', "these steps are missing: B"),
        ("## B (de)", '## B 0\n```toml\nof = "B"\n```\n\n## B (de)', "its steps are not those"),
        ("{{ p }} hat", "Hat", "the step 'A' lacks {{ p }}"),
        ("{{ p }} hat", "{{ q }} hat {{ p }}", "the step 'A' has {{ q }}"),
        ("Liegt {{ u }}", "Liegt u", "ask in the question of the step 'A' lacks {{ u }}"),
        ("(https://example.org)", "(https://example.com)", "lacks ](https://example.org)"),
        ('"Ja", ', "", "options in the question of the step 'A' is not as many texts"),
        ('why = "Siehe', 'wy = "Siehe', "the question of the step 'A' lacks why"),
        ('of = "A"', 'of = "A"\nlook = ".sv-dock"', "the step 'A' has look, which is no text"),
        ('[predict]', '[predict]\nanswer = 0', "the question of the step 'A' has answer"),
        ('try = "Ziehe die Münze."', "", "the step 'A' lacks try"),
        ('question = "F"', 'question = "F"\nminutes = 3', "the front matter has minutes"),
        ('question = "F"', "", "the front matter lacks question"),
        (GERMAN[GERMAN.index("[predict]") : GERMAN.index("```\n{{ p }}")], "",
         "has no such question as the English step"),
    ],
)  # fmt: skip
def test_translation_that_disagrees_with_the_english_lesson_is_an_error(
    german, text, instead, message
):
    assert text in GERMAN
    with pytest.raises(BadLesson, match=rf"de/own: .*{re.escape(message)}"):
        german(GERMAN.replace(text, instead))


@pytest.mark.slow
def test_translations_have_the_numbers_and_steps_of_the_english_lessons():
    assert {("de", "03-accept-with-p-over-q"), ("de", "04-the-residual")} <= {*TRANSLATED}
    assert {lang for lang, _ in TRANSLATED} <= {*languages()} - {ENGLISH}
    for lang, name in TRANSLATED:
        english, other = lesson(name), lesson(name, lang)
        assert other["lang"] == lang
        assert other["title"] != english["title"]
        for ours, theirs in zip(other["steps"], english["steps"], strict=True):
            assert ours["text"] != theirs["text"]
            assert set(numbers(ours["text"])) == set(numbers(theirs["text"])), (lang, name)
            for key in ("tab", "look", "place", "sandbox", "rounds"):
                assert ours.get(key) == theirs.get(key), (lang, name)


def test_first_lessons_are_simple_and_say_where_they_show_the_details():
    for name in NAMES[:4]:
        for lang in ("en", "de"):
            for step in lesson(name, lang)["steps"]:
                said = " ".join(map(flat, [*step["text"], step.get("attempt", [])])).lower()
                shown = step["tab"] == "Step" and not step.get("simple")
                assert shown == ("details" in said), (name, lang, step["title"])


@pytest.mark.slow
def test_lesson_is_found_by_its_number():
    for number in ("7", "07", "07-several-guesses"):
        assert sent(number)["id"] == "07-several-guesses"
    for earlier in ("6", "06", "06-the-residual"):  # its number in links of earlier versions
        assert sent(earlier)["id"] == "04-the-residual"
    for wrong in ("0", "99", "007-", "²", "9" * 5000, "07-several"):
        assert "There is no lesson of this name" in sent(wrong)["problem"]


def test_lesson_without_a_translation_is_returned_in_english():
    assert sent("02-one-pass-checks-all", "de")["lang"] == ENGLISH
    assert [each["lang"] for each in titles("de")][1:3] == [ENGLISH, "de"]
    sent(NAMES[4])
    known = lesson.cache_info().currsize
    for lang in ("fr", "../de", ""):
        assert sent(NAMES[4], lang)["lang"] == ENGLISH
    assert lesson.cache_info().currsize == known, "a visitor could fill the memory"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda it: it["tour"].pop("guess"), "missing: tour.guess.say, tour.guess.title"),
        (lambda it: it["words"].pop("next"), "missing: words.next"),
        (lambda it: it["words"].update(nxt="Weiter"), "unknown: words.nxt"),
        (lambda it: it["words"].update(at="{at}"), "words.at has other placeholders"),
        (lambda it: it["words"].update(article="Der Artikel"), "words.article has other"),
        (lambda it: it["words"].update(next=1), "words.next is not a text"),
    ],
)
def test_catalogue_that_disagrees_with_the_english_one_is_refused(change, message):
    for known in languages().values():
        assert list(known["tour"]) == [stop["place"] for stop in STOPS]
    language = copy.deepcopy(languages()["de"])
    check_language(language, languages()[ENGLISH])
    change(language)
    with pytest.raises(ValueError, match=re.escape(message)):
        check_language(language, languages()[ENGLISH])
