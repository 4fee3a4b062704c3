"""The card's section about another program: whether it keeps the guesses that are kept here.

Rule: every number comes from peers.json, which `tests/peers/vllm_accepted.py` writes.
"""

from __future__ import annotations

from typing import Any

from specviz.house.card.base import Models, table
from specviz.house.export import SHARED


def other_programs(models: Models) -> str:
    """vLLM beside us, drafter by drafter."""
    facts = models.peers
    if facts is None:
        return "## In vLLM\n\nNot compared yet: run `python tests/peers/vllm_accepted.py FOLDER`."
    heads = ("drafter", "folder", "guesses a round", "same text", "same rounds", "kept by position")
    notes = [_note(row) for row in facts["rows"] if row["why_not"] or row["differs"]]
    return "\n\n".join(
        ["## In vLLM", _where(facts), table(heads, map(_row, facts["rows"])), "\n".join(notes)]
    )


def _where(facts: dict[str, Any]) -> str:
    theirs, ours = facts["versions"]["vllm"], facts["versions"]["ours"]
    days = " and ".join(sorted({row["date"] for row in facts["rows"]}))
    return (
        f"By `python tests/peers/vllm_accepted.py FOLDER` on {days}: {facts['program']} "
        f"{facts['version']} ({facts['package']}, torch {theirs['torch']}, transformers "
        f"{theirs['transformers']}) beside this program (torch {ours['torch']}, transformers "
        f"{ours['transformers']}), {facts['dtype']}, {facts['processor']}. Both decoded each of "
        f"the app's {len(facts['rows'][0]['vllm'])} prompts at temperature 0, at most "
        f"{facts['new_tokens']} new tokens, with a chain of guesses. `same rounds`: prompts in all "
        "of whose rounds both kept as many guesses. `kept by position`: rounds that kept the "
        "first guess, the second, and so on, of all rounds. The last round of a text is left out: "
        "it is cut to the room left here, and drafted whole there. vLLM's Medusa shares no "
        "projection with its target, so the target's lies once more in that folder "
        f"(`{SHARED}`), which nothing here reads."
    )


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    prompts = len(row["vllm"])
    folder = "as it lies" if row["as_it_lies"] else "a changed copy"
    return (
        f"`{row['drafter']}`",
        folder if row["hash"] else "none",
        str(row["theirs"]["num_speculative_tokens"]),
        f"{row['texts_equal']} of {prompts}",
        f"{row['rounds_equal']} of {prompts}",
        _kept(row),
    )


def _kept(row: dict[str, Any]) -> str:
    """Once where both are the same."""
    told = {
        who: f"{' · '.join(map(str, counts))} of {row['rounds'][who]:,}"
        for who, counts in row["by_position"].items()
    }
    if told["vllm"] == told["ours"]:
        return f"both {told['ours']}"
    return f"there {told['vllm']}, here {told['ours']}"


def _note(row: dict[str, Any]) -> str:
    """Why a folder is of no use there as it lies, and why guesses are not the same."""
    told = [f"- `{row['drafter']}`:"]
    if row["why_not"]:
        told += [row["why_not"], f"vLLM said: {row['said']}"]
    if row["differs"]:
        told += [
            row["differs"],
            f"Done so here, the rounds of {row['as_there']} prompts are equal.",
        ]
    return " ".join(told)
