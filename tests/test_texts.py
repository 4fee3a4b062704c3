"""Sentences in templates: parts survive, and the code and the templates name the same sentences."""

import ast
import re
from functools import cache
from itertools import product

import pytest
from jinja2 import Environment, nodes

from specviz import texts
from specviz.glossary import GLOSSARY
from specviz.texts import FOLDER, count, listed, macros, marked, number, say, term, word

PACKAGE = FOLDER.parent
TEMPLATES = {path.stem: path for path in sorted(FOLDER.glob("*.jinja"))}
CHIP = word([{"g": "space"}, "cat\x02\x03{{ }}"])


def rendered(source, **values):
    """Render the macro `it` of a template source as `say` does, without a file."""
    macro = texts._environment().from_string(source).module.it
    return texts.parted(str(macro(**values)))


def test_rendering_a_sentence_keeps_its_parts_unchanged():
    source = "{% macro it(p, w) %}The target gives {{ w }} {{ p }}.{% endmacro %}"
    p = number("0.25", "p")
    assert rendered(source, p=p, w=CHIP) == ["The target gives ", CHIP, " ", p, "."]


def test_parts_of_a_sentence_pass_through_lists_and_macros():
    source = """
    {% macro inner(w) -%} ({{ w }}) {%- endmacro %}
    {% macro it(w) %}{{ inner(w) }} {{ [w, w, w, w, w]|listed }} {{ [w, " next"] }}{% endmacro %}
    """
    several = [CHIP, ", ", CHIP, ", ", CHIP, " and 2 more ", CHIP, " next"]
    assert rendered(source, w=CHIP) == ["(", CHIP, ") ", *several]
    source = "{% macro it(w) %}\n  One\n    two {{ w }}\n  three.\n{% endmacro %}"
    assert rendered(source, w=CHIP) == ["One two ", CHIP, " three."]


def test_counts_lists_and_terms_have_their_format():
    source = "{% macro it(n) %}{{ n }}: {{ n|count('pass', 'passes') }}{% endmacro %}"
    assert rendered(source, n=1200) == ["1,200: 1,200 passes"]
    assert rendered(source, n=1) == ["1: 1 pass"]
    assert count(4, "token") == "4 tokens"
    assert listed(["a"]) == ["a"]
    assert listed(["a", "b", "c"]) == ["a", ", ", "b", " and ", "c"]
    assert "".join(listed(list("abcde"))) == "a, b, c and 2 more"
    assert term("a pass", "tokens per pass") == {"t": "a pass", "term": "tokens per pass"}


def test_unknown_sentence_or_value_without_a_defined_format_is_refused():
    for value in (None, True, 0.5):
        with pytest.raises(TypeError):
            marked(value)
    with pytest.raises(KeyError):
        say(next(iter(TEMPLATES)), "no such sentence")


@cache
def defined():
    """Return by template and sentence its required arguments and all its arguments."""
    found = {}
    for template, path in TEMPLATES.items():
        for macro in Environment().parse(path.read_text("utf-8")).find_all(nodes.Macro):
            names = [argument.name for argument in macro.args]
            needed = names[: len(names) - len(macro.defaults)]
            found[template, macro.name] = set(needed), set(names)
    return found


def test_no_template_defines_a_sentence_twice():
    for template, path in TEMPLATES.items():
        found = re.findall(r"{%-? *macro (\w+)", path.read_text("utf-8"))
        assert len(found) == len(set(found)), template
        assert set(macros(template)) == set(found)


@pytest.mark.slow
def test_every_call_uses_an_existing_sentence_with_all_its_arguments():
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text("utf-8")
        if "from specviz.texts import" in source:
            for call in calls(ast.parse(source)):
                given = {keyword.arg for keyword in call.keywords}
                for key in product(*map(strings, call.args)):
                    needed, taken = defined()[key]
                    assert given - {None} <= taken, (path, key)
                    assert None in given or needed <= given, (path, key)  # None: **values


def calls(tree):
    """Yield the calls of `say` and `text` that name their sentence."""
    for node in ast.walk(tree):
        named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if named and node.func.id in ("say", "text") and len(node.args) == 2:
            yield node


def strings(node):
    """Return the possible strings of an argument: a constant, or both branches of an `if`."""
    ends = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]
    return [end.value for end in ends if isinstance(end, ast.Constant)]


def test_every_sentence_in_the_templates_is_used():
    """A sentence is used by a call, by its name in the code, or by another sentence."""
    code = " ".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    quoted, begun = set(re.findall(r'"(\w+)"', code)), tuple(re.findall(r'f"(\w+_){', code))
    for template, path in TEMPLATES.items():
        source = path.read_text("utf-8")
        for _, sentence in [key for key in defined() if key[0] == template]:
            inside = len(re.findall(rf"\b{sentence}\(", source)) > 1
            assert sentence in quoted or sentence.startswith(begun) or inside, (template, sentence)


# Words that a reader of the field would have to translate back.
DIALECT = re.compile(
    r"\b(fell|fallen|laid|owed|thrown|dealt|law|laws|(?<![Bb]y )chances?|stands in its place|anew"
    r"|what is left|came so far|made for nothing|made stays|way round|next to nothing)\b"
)


def test_no_template_or_glossary_entry_uses_private_words():
    code = re.compile(r"{{.*?}}|{%.*?%}|{#.*?#}", re.DOTALL)
    texts = {name: code.sub("", path.read_text("utf-8")) for name, path in TEMPLATES.items()}
    texts |= GLOSSARY
    found = {name: match[0] for name, text in texts.items() if (match := DIALECT.search(text))}
    assert not found
