"""Sections of the card about drafting: training, measurements, and comparison with vLLM.

Every number comes from a manifest, from measured.json or from peers.json (written by
`tests/peers/vllm_accepted.py`), and is shown with the models and prompts that were used.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any, Final

from specviz.bench.methods import drafter_names
from specviz.bench.outcomes import calibration_error, pool_reliability
from specviz.glossary import GLOSSARY
from specviz.trace.metrics import mean_over_equal_text
from specviz.training.card import (
    Models,
    megabytes,
    number,
    percents,
    settings_text,
    table,
)
from specviz.training.export import SHARED
from specviz.training.head_training import (
    PLATEAU_GAIN,
    PLATEAU_MEASUREMENTS,
    HeadRecipe,
    plateau_gain,
)
from specviz.training.trainer import decay_start

MIN_JUDGED: Final = 10  # minimum number of judged guesses to show a share
SHOWN_DEPTHS: Final = 6  # maximum number of depths shown
TEXT_MEANS: Final = (
    "ratio_to_plain",
    "tokens_per_pass",
)  # columns that are averaged over equal amounts of text
MEANS: Final = (
    "Speed-up and tokens per pass are harmonic means, for equal amounts of text from each domain; "
    "everything else is averaged over the domains."
)
MEMORY_COLUMN: Final = "held in memory"


def _within_sentence(definition: str) -> str:
    return definition[0].lower() + definition[1:]


NOT_YET = "Not measured yet: run `python -m specviz train measure`, then `train card` again."
DEFINITIONS: Final = (
    "- **α**: the probability that a judged position accepts one of its guesses, computed before "
    "any random number is used and averaged over all judged positions of all runs. For one "
    "sampled guess it is Σ min(p, q) over the whole vocabulary; for sampled siblings, given the "
    "guesses, it is 1 − Π(1 − min(1, p/q)), with p and q as they remain after the earlier "
    "rejections; for top tokens, the sum of their p. At temperature 0 it is the share of "
    "positions where the target's top token is among the guesses.\n"
    "- **tokens per pass**: new tokens divided by target passes, the prefill included; one more "
    "than the guesses accepted in a round.\n"
    f"- **kept by depth**: {_within_sentence(GLOSSARY['kept by depth'])} "
    f"In percent, from depth 1; a dash means that fewer than {MIN_JUDGED} guesses were judged.\n"
    f"- **plain pass**: {_within_sentence(GLOSSARY['plain pass'])}\n"
    f"- **extra files**: {_within_sentence(GLOSSARY['extra files'])}\n"
    "- **drafting, checking**: time of a round in plain passes: of the drafter; and of the "
    "target's pass over all guesses, judging them and updating the cache.\n"
    "- **speed-up**: tokens per second divided by those of plain decoding, prefill included, "
    "measured in turn with it on the same prompt; the median over prompts. At temperature 0 both "
    "wrote the same text; at 1 the texts differ, and so may their lengths."
)


def heads_section(models: Models) -> str:
    """Return the section on the heads' training."""
    rows = [
        (
            f"`{name}`",
            f"{facts['parameters'] / 1e6:.2f} M",
            megabytes(facts["bytes"]),
            f"{facts['steps']:,}",
            f"{facts['tokens'] / 1e6:.1f} M",
            f"{facts['recipe']['own_text'] / 1e6:.1f} M",
            f"{facts['seconds'] / 60:.0f} min",
            f"{facts['loss']:.3f}",
            _still_rising(facts),
            _on_average(facts, "agreement"),
            _on_average(facts, "overlap"),
        )
        for name, facts in models.heads.items()
    ]
    if not rows:
        return "## Heads\n\nNone is finished yet."
    names = (
        "head", "parameters", "weights", "steps", "tokens seen", "own text", "time", "loss",
        "α rose by", "same top token, by depth", "Σ min(p, q), by depth",
    )  # fmt: skip
    return (
        "## Heads\n\n"
        + table(names, rows)
        + "\n\n`own text`: tokens that the target wrote itself; half of the training windows come "
        "from them. `time` leaves out the target's passes, which all heads share. Losses of "
        "different kinds of heads cannot be compared. `α rose by`: over the last "
        f"{PLATEAU_MEASUREMENTS} measurements before the learning rate fell, in percentage points, "
        "on held-out text; a dash if there were too few. A head that gained less than "
        f"{100 * PLATEAU_GAIN:g} had stopped learning at that rate, so probably its size or what "
        "it reads limits it; the others would probably gain from more training. The "
        "last columns are percentages on held-out text, given the text's own tokens before each "
        "guess, averaged over the domains."
    )


def _still_rising(facts: dict[str, Any]) -> str:
    # By how much α still rose while the learning rate was constant.
    constant = decay_start(HeadRecipe(**facts["recipe"]), facts["steps"])
    alpha = {int(step): value for step, value in facts["alpha_by_step"].items()}
    gain = plateau_gain({step: value for step, value in alpha.items() if step <= constant})
    return "–" if gain is None else f"{100 * gain:.2f}".replace("-", "−")


def measured_sections(models: Models) -> str:
    """Return the sections of measurements, by domain and temperature."""
    facts = models.measured
    if facts is None:
        return f"## Measured\n\n{NOT_YET}"
    return "\n\n".join(
        [
            f"## Measured\n\n{_measured_setup(facts)}\n\n{_definitions(facts)}{_left_out(facts)}",
            *([facts["note"]] if "note" in facts else []),
            *tables(facts),
            *_reliability(facts),
            _same_budget(facts["same_budget"]),
        ]
    )


def section_of(facts: dict[str, Any]) -> str:
    """Return the section of measurements on a target other than House."""
    about = f"## Measured\n\n{_measured_setup(facts)}\n\n{_definitions(facts)}"
    return "\n\n".join([about, *tables(facts), *_reliability(facts), *_public(facts.get("public"))])


def _public(facts: dict[str, Any] | None) -> Iterator[str]:
    if facts is None:
        return
    sizes = facts["questions"]
    listed = ", ".join(f"{category} ({count})" for category, count in sizes.items())
    rows = []
    for name in facts["drafters"]:
        for temperature in sorted({row["temperature"] for row in facts["rows"]}):
            mine = _rows_of(facts, name, temperature)
            cells = (number(row["tokens_per_pass"]) for row in mine)
            mean = number(mean_over_equal_text([row["tokens_per_pass"] for row in mine]))
            rows.append((f"`{name}`", f"{temperature:g}", mean, *cells))
    yield (
        "### Public questions: tokens per pass\n\n"
        f"The first turns of `{facts['file']}`: {listed}; at most {facts['new_tokens']} new tokens "
        f"each, seed {facts['seed']}. No drafter was trained on them. The number does not depend "
        "on the speed of the machine. The app's own prompts are closer to the text that a trained "
        "head has seen, so these numbers say more about other text. The mean is the harmonic "
        "mean, for equal amounts of text from each category.\n\n"
        + table(("drafter", "temperature", "mean", *sizes), rows)
    )


def tables(facts: dict[str, Any]) -> list[str]:
    """Return the tables: an overview, and one table per domain and temperature."""
    return [_overview(facts), *_domains(facts)]


def _definitions(facts: dict[str, Any]) -> str:
    memory = _within_sentence(GLOSSARY[MEMORY_COLUMN])
    line = f"\n- **{MEMORY_COLUMN}**: {memory} The most of all runs."
    return DEFINITIONS + (line if _memory_by_drafter(facts) else "")


def _on_average(facts: dict[str, Any], what: str) -> str:
    by_domain = list(facts[what].values())
    shares = [fmean(depth) for depth in zip(*by_domain, strict=False)]
    return percents(shares, [MIN_JUDGED] * len(shares), MIN_JUDGED)


def _measured_setup(facts: dict[str, Any]) -> str:
    found, machine = facts["versions"], facts["machine"]
    return (
        f"Measured with `python -m specviz train measure` on {machine['device']} "
        f"({machine['processor']}), {facts['dtype']}, torch {found['torch']} (threads: "
        f"{facts['threads']}), on the first {facts['prompts']} of the app's own prompts in each "
        "domain, which were written for the app and are in no training text; at most "
        f"{facts['new_tokens']} new tokens; turns per prompt: {facts['repeats']}; seed "
        f"{facts['seed']}. With so few prompts the second digit is noise."
    )


def _left_out(facts: dict[str, Any]) -> str:
    names = [name for name in drafter_names("house", None) if name not in facts["drafters"]]
    listed = ", ".join(f"`{name}`" for name in names)
    return f"\n\nNot measured, because not on that machine: {listed}." if names else ""


def _overview(facts: dict[str, Any]) -> str:
    temperatures = sorted({row["temperature"] for row in facts["rows"]})
    memory = _memory_by_drafter(facts)
    rows = []
    for name, about in facts["drafters"].items():
        memory_cell = [megabytes(memory[name])] if memory else []
        line = [
            f"`{name}`",
            megabytes(about["bytes"]),
            *memory_cell,
            settings_text(about["settings"]),
        ]
        for temperature in temperatures:
            mine = _rows_of(facts, name, temperature)
            line += [_mean(mine, "tokens_per_pass"), f"× {_mean(mine, 'ratio_to_plain')}"]
        rows.append(line)
    columns = [f"{what}, T {t:g}" for t in temperatures for what in ("tokens per pass", "speed-up")]
    return (
        "### Drafters\n\n"
        + table(
            ("drafter", "extra files", *([MEMORY_COLUMN] if memory else []), "settings", *columns),
            rows,
        )
        + f"\n\n{MEANS} The tables by domain show larger differences."
    )


def _memory_by_drafter(facts: dict[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in facts["rows"]:
        if row.get("held_bytes") is not None:
            found[row["name"]] = max(found.get(row["name"], 0), row["held_bytes"])
    return found


def _domains(facts: dict[str, Any]) -> Iterator[str]:
    columns = (
        "drafter", "α", "tokens per pass", "kept by depth, %", "guesses per round", "drafting",
        "checking", "speed-up",
    )  # fmt: skip
    groups: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for row in facts["rows"]:
        groups.setdefault((row["domain"], row["temperature"]), []).append(row)
    for (domain, temperature), rows in sorted(groups.items(), key=lambda item: item[0][1]):
        lines = [
            (
                f"`{row['name']}`",
                number(row["alpha"]),
                number(row["tokens_per_pass"]),
                _by_depth(row, "kept_by_depth"),
                number(row["guesses_per_round"], 1),
                number(row["round_draft_cost"]),
                number(row["round_check_cost"]),
                f"× {number(row['ratio_to_plain'])}",
            )
            for row in rows
        ]
        yield f"### {domain}, temperature {temperature:g}\n\n" + table(columns, lines)


def _reliability(facts: dict[str, Any]) -> Iterator[str]:
    groups: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for row in facts["rows"]:
        if row.get("reliability"):
            groups.setdefault((row["name"], row["temperature"]), []).append(row)
    if not groups:
        return
    lines = []
    for (name, temperature), rows in groups.items():
        pooled = pool_reliability(each["reliability"] for each in rows)
        cells = [
            f"{mean:.2f} → {kept:.2f} ({count:.0f})" if count >= MIN_JUDGED else "–"
            for count, mean, kept in pooled
        ]
        error = f"{calibration_error(pooled):.3f}"
        lines.append((f"`{name}`", f"{temperature:g}", error, " · ".join(cells)))
    columns = ("drafter", "temperature", "ECE", "predicted → observed (guesses judged)")
    yield (
        "### Predicted and observed acceptance\n\n"
        "A confidence head predicts, before a guess is drawn, the probability that it is accepted. "
        "The guesses that were judged are sorted by that prediction into ten intervals. ECE, the "
        "expected calibration error, is the mean difference of prediction and outcome, weighted "
        "by the number of guesses; a dash means fewer than "
        f"{MIN_JUDGED} guesses.\n\n" + table(columns, lines)
    )


def _by_depth(row: dict[str, Any], what: str) -> str:
    counts = row["judged_by_depth"][:SHOWN_DEPTHS]
    return percents(row[what][:SHOWN_DEPTHS], counts, MIN_JUDGED)


def _same_budget(facts: dict[str, Any]) -> str:
    about = (
        "### With the same budget\n\n"
        f"Here each drafter drafts {facts['guesses']} guesses, as deep as EAGLE's static tree, so "
        "that lengths can be compared; there are fewer only where a text or a tree ends early. "
        f"{MEANS}"
    )
    if not facts["rows"]:
        return f"{about} None of them was on that machine."
    rows = []
    for name in facts["drafters"]:
        for temperature in sorted({row["temperature"] for row in facts["rows"]}):
            mine = _rows_of(facts, name, temperature)
            rows.append((f"`{name}`", f"{temperature:g}", *_means(mine)))
    columns = ("drafter", "temperature", "guesses per round", "α", "tokens per pass")
    domains = list(dict.fromkeys(row["domain"] for row in facts["rows"]))
    return about + "\n\n" + table((*columns, *domains), rows)


def _means(rows: list[dict[str, Any]]) -> Iterator[str]:
    for what, digits in (("guesses_per_round", 1), ("alpha", 2), ("tokens_per_pass", 2)):
        yield _mean(rows, what, digits)
    yield from (number(row["tokens_per_pass"]) for row in rows)


def _rows_of(facts: dict[str, Any], name: str, temperature: float) -> list[dict[str, Any]]:
    wanted = (name, temperature)
    return [row for row in facts["rows"] if (row["name"], row["temperature"]) == wanted]


def _mean(rows: list[dict[str, Any]], what: str, digits: int = 2) -> str:
    values = [row[what] for row in rows if row[what] is not None]
    mean = mean_over_equal_text if what in TEXT_MEANS else fmean
    return number(mean(values) if values else None, digits)


def other_programs(models: Models) -> str:
    """Return the section that compares vLLM with specviz, drafter by drafter."""
    facts = models.peers
    if facts is None:
        return "## In vLLM\n\nNot compared yet: run `python tests/peers/vllm_accepted.py FOLDER`."
    heads = (
        "drafter", "folder", "guesses per round", "same text", "same rounds", "kept by position",
    )  # fmt: skip
    notes = [_note(row) for row in facts["rows"] if row["why_not"] or row["differs"]]
    notes += [_machine_note(row) for row in facts["rows"] if "versions" in row]
    return "\n\n".join(
        [
            "## In vLLM",
            _compared_setup(facts),
            table(heads, map(_row, facts["rows"])),
            "\n".join(notes),
        ]
    )


def _compared_setup(facts: dict[str, Any]) -> str:
    theirs, ours = facts["versions"]["vllm"], facts["versions"]["ours"]
    here = [row for row in facts["rows"] if "versions" not in row]
    days = " and ".join(sorted({row["date"] for row in here}))
    return (
        f"Measured with `python tests/peers/vllm_accepted.py FOLDER` on {days}: "
        f"{facts['program']} {facts['version']} ({facts['package']}, torch {theirs['torch']}, "
        f"transformers {theirs['transformers']}) and specviz (torch {ours['torch']}, transformers "
        f"{ours['transformers']}), {facts['dtype']}, {facts['processor']}. Both decoded each of "
        f"the app's {len(facts['rows'][0]['vllm'])} prompts at temperature 0, at most "
        f"{facts['new_tokens']} new tokens, with a chain of guesses. `same rounds`: prompts in "
        "which both accepted the same number of guesses in every round. `kept by position`: how "
        "many rounds accepted the first guess, the second, and so on. The last round of a text is "
        "left out, because specviz shortens its draft to the tokens left and vLLM does not. "
        "vLLM's Medusa does not share the target's projection, so its folder has a copy "
        f"(`{SHARED}`), which specviz does not read."
    )


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    prompts = len(row["vllm"])
    folder = "unchanged" if row["as_it_lies"] else "modified copy"
    return (
        f"`{row['drafter']}`",
        folder if row["hash"] else "none",
        str(row["theirs"]["num_speculative_tokens"]),
        f"{row['texts_equal']} of {prompts}",
        f"{row['rounds_equal']} of {prompts}",
        _accepted_counts(row),
    )


def _machine_note(row: dict[str, Any]) -> str:
    theirs, ours = row["versions"]["vllm"], row["versions"]["ours"]
    return (
        f"- `{row['drafter']}`: measured on {row['date']} on {row['processor']}, with torch "
        f"{theirs['torch']} and transformers {theirs['transformers']} for vLLM, and torch "
        f"{ours['torch']} and transformers {ours['transformers']} for specviz."
    )


def _accepted_counts(row: dict[str, Any]) -> str:
    counts_by_side = {
        program: f"{' · '.join(map(str, counts))} of {row['rounds'][program]:,}"
        for program, counts in row["by_position"].items()
    }
    if counts_by_side["vllm"] == counts_by_side["ours"]:
        return f"both {counts_by_side['ours']}"
    return f"vLLM {counts_by_side['vllm']}, specviz {counts_by_side['ours']}"


def _note(row: dict[str, Any]) -> str:
    parts = [f"- `{row['drafter']}`:"]
    if row["why_not"]:
        parts += [row["why_not"], f"vLLM's message: {row['said']}"]
    if row["differs"]:
        parts += [
            row["differs"],
            f"If specviz does the same, the rounds of {row['as_there']} prompts are equal.",
        ]
    return " ".join(parts)
