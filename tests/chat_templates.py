"""Chat templates of well-known models, without their parts for tools, and hostile templates.

Line lengths are those of the models' authors.
"""

# ruff: noqa: E501

from __future__ import annotations

QWEN_3 = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or reasoning_content) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""
SMOLLM_2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}"
)
PHI_4 = (
    "{% for message in messages %}{% if (message['role'] == 'system') %}"
    "{{'<|im_start|>system<|im_sep|>' + message['content'] + '<|im_end|>'}}"
    "{% elif (message['role'] == 'user') %}"
    "{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|>'}}"
    "{% elif (message['role'] == 'assistant') %}{% generation %}"
    "{{'<|im_start|>assistant<|im_sep|>' + message['content'] + '<|im_end|>'}}"
    "{% endgeneration %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}"
)
MACROS = """{#- What the templates of Llama 3, Gemma and Mistral use, and the others here do not. #}
{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- set users = messages | selectattr("role", "equalto", "user") | list %}
{%- if (messages[0]['role'] == 'assistant') != (users | length == 0) -%}
    {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
{%- elif messages[0]['content'] is not iterable -%}
    {{ raise_exception("Invalid content type") }}
{%- endif -%}
{{- date_string + "\\n" + messages[0]['content'] | trim + eos_token }}
{%- macro turn(role, content) %}
{{- '<' ~ role ~ '>' ~ content ~ '</' ~ role ~ '>' }}
{%- endmacro %}
{%- set seen = dict(a=1, b=[1, 2]) %}
{%- for key, value in seen.items() %}{{ key }}={{ value | tojson }};{% endfor %}
{%- for message in messages %}
    {%- if loop.index > 9 %}{% break %}{% endif %}
    {%- if not message.content %}{% continue %}{% endif %}
{{ turn(message.role, message.content) }}
{%- endfor %}
{{ {'é': 1, 'b': '<'} | tojson(indent=2) }}
"""
KNOWN = {
    "Qwen 3": QWEN_3,
    "SmolLM2": SMOLLM_2,
    "Phi 4": PHI_4,
    "macros, loop controls, filters, dict, tojson": MACROS,
}

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
