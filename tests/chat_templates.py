"""Chat templates of well-known models, as in `templates`, and hostile templates."""

from __future__ import annotations

from pathlib import Path

# Each as its authors wrote it, without its parts for tools; and one of all that templates may use.
FOLDER = Path(__file__).resolve().parent / "templates"
KNOWN = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.jinja"))}

LOOP = "{% for i in range(99999) %}"
HOSTILE = {
    "nested loops": LOOP * 2 + "{% endfor %}" * 2,
    "loops over a text": "{% for a in 'x' * 9999 %}{% for b in 'x' * 9999 %}"
    "{% for c in 'x' * 9999 %}{% endfor %}{% endfor %}{% endfor %}",
    "loops over lists": "{% set a = range(99999)|list %}{% for i in a %}{% for j in a %}"
    "{% endfor %}{% endfor %}",
    "a long text": "{{ 'x' * 10**10 }}",
    "a long text, folded": "{{ 'x'|center(10**10) }}",
    "a text doubled": "{% set ns = namespace(a='x') %}{% for i in range(60) %}"
    "{% set ns.a = ns.a ~ ns.a %}{% endfor %}{{ ns.a }}",
    "a list of a list": "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}"
    "{% set ns.a = [ns.a, ns.a] %}{% endfor %}{{ ns.a }}",
    "equal lists": "{% set ns = namespace(a=[1], b=[1]) %}{% for i in range(60) %}"
    "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
    "a power": "{{ 10 ** (10 ** 9) }}",
    "a power of a power": "{{ 9 ** 9 ** 9 ** 9 }}",
    "a format": "{{ '%1000000000d' % 1 }}{{ '%1000000000d' % 1 }}",
    "a format's width": "{{ '{:>9000000000}'.format(1) }}",
    "a filter's width": "{{ ('x'|string)|center(9000000000) }}",
    "an indent": "{{ 'a\\nb'|indent(9000000000) }}",
    "slices": "{{ [1]|slice(10**9)|list }}",
    "batches": "{{ [1]|batch(10**10, 'x')|list }}",
    "replace": "{{ ('x' * 10**6)|replace('x', 'y' * 10**6) }}",
    "join": "{{ ('x' * 10**6).join(range(99999)|map('string')) }}",
    "lorem ipsum": "{{ lipsum(n=10**9) }}",
    "recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "recursion that branches": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}"
    "{% endmacro %}{{ f(100) }}",
    "a recursive loop": "{% for i in [1] recursive %}{{ loop([1]) }}{{ loop([1]) }}{% endfor %}",
    "a long output": LOOP + "{{ 'x' * 1000 }}{% endfor %}",
    "nested brackets": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "nested blocks": "{% if 1 %}" * 500 + "{% endif %}" * 500,
    "a long template": "x" * (1 << 20),
}
