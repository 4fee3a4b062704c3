"""What a target is asked for its lessons: a file of questions, one JSON object a line.

Rule: what the app or a benchmark measures on is never among them; a row that is `held_out` is
answered like the others, and no head learns from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from specviz.shipped import prompts
from specviz.training.corpus import documents


@dataclass(frozen=True, slots=True)
class Question:
    """text: what is asked; where it is empty, the target thinks of a question itself."""

    text: str
    domain: str
    held_out: bool = False


def read_questions(path: Path) -> list[Question]:
    """The questions of a file. Raises ValueError with a sentence, OSError."""
    found = []
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")  # splitlines knows more ends
    for number, line in enumerate(filter(None, lines), 1):
        try:
            row = json.loads(line)
            found.append(Question(row["text"], row["domain"], bool(row.get("held_out", False))))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f'Line {number} of {path.name} is no {{"text": …, "domain": …}}: {error}'
            ) from error
    if not found:
        raise ValueError(f"{path.name} asks nothing.")
    return found


def write_questions(path: Path, questions: Iterable[Question]) -> None:
    """One question a line."""
    lines = (json.dumps(asdict(each), ensure_ascii=False) for each in questions)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


COMMON: Final = 60  # letters in a row that a question may not share with a held-out prompt
PASSAGE: Final = (200, 620)  # letters of a passage
HELD_OUT_TURNS: Final = 4  # times that a held-out prompt is asked: once a temperature

TOPICS: Final = (
    "the water cycle|volcanoes|bees|the moon|bread|bicycles|the French Revolution|gravity|whales|"
    "coffee|chess|the human heart|rainforests|electric cars|photosynthesis|dreams|money|the Roman "
    "Empire|sleep|vaccines|earthquakes|music theory|recycling|the internet|penguins|cheese|time "
    "zones|the solar system|deserts|friendship|running a marathon|learning a language|job "
    "interviews|gardening|tea|football|painting|the printing press|batteries|black holes|cats|"
    "dogs|cooking rice|public speaking|saving money|camping|the ocean|glaciers|democracy|"
    "algebra|fractions|probability|prime numbers|databases|Python programming|sorting "
    "algorithms|version control|operating systems|computer networks|neural networks|climate "
    "change|wind power|nutrition|vitamins|exercise|stress|the immune system|DNA|evolution|"
    "dinosaurs|ancient Egypt|the Silk Road|Shakespeare|poetry|novels|jazz|the piano|films|"
    "photography|architecture|bridges|trains|aeroplanes|ships|maps|the stock market|inflation|"
    "small businesses|marketing|customer service|e-mail|meetings|teamwork|leadership|school|"
    "homework|universities|libraries|museums|parents|babies|growing old|holidays|weddings|"
    "birthdays|Japan|Brazil|Kenya|India|Canada|Italy|mountains|rivers|rain|snow|thunder|the "
    "sun|stars|colours|mirrors|magnets|clocks|soap|glass|paper|plastic|gold|salt|sugar|"
    "chocolate|apples|potatoes|tomatoes|spiders|snakes|horses|elephants|birds|trees|flowers|"
    "mushrooms|honesty|courage|happiness|fear|memory|habits|curiosity|justice|privacy"
)

OPEN: Final = (
    "Explain {} to a child.",
    "What should everybody know about {}?",
    "Write a short paragraph about {}.",
    "Why does {} matter? Give me three reasons.",
    "Tell me an interesting story about {}.",
    "Write a poem about {}.",
    "I know nothing about {}. Where do I begin?",
    "What is the history of {}?",
    "Compare {} and {}.",
    "Write an e-mail to a friend about {}.",
    "How would you teach {} in one lesson?",
    "Imagine a conversation between two experts about {}. Write it down.",
    "What are common mistakes that people make about {}?",
    "Give me some advice about {}.",
    "Describe {} as a travel blogger would.",
    "What will {} be like in a hundred years?",
)
LISTS: Final = (
    "Make a numbered list of ten facts about {}.",
    "List five books about {} with a sentence on each.",
    "Give me eight ideas for a project about {}, as bullet points.",
    "Write a step-by-step guide about {}.",
    "Make a table of the advantages and disadvantages of {}.",
    "Write five quiz questions about {} with their answers.",
    "Give me a JSON object with five facts about {}.",
    "List the most important words about {} and define each.",
)
CODING: Final = (
    "Write a Python function that {}.",
    "Write a Python function that {}. Add a docstring and an example.",
    "How do I write a program that {}?",
    "Write a test for a function that {}.",
)
TASKS: Final = (
    "reverses a string|finds the largest number of a list|counts vowels|checks whether a year is a "
    "leap year|sorts a list of names|removes duplicates from a list|reads a CSV file|sums the "
    "digits of a number|finds all prime numbers up to n|merges two dictionaries|flattens a nested "
    "list|computes the average of a list|converts Celsius to Fahrenheit|counts the lines of a "
    "file|draws a triangle of stars|finds the second largest item|rotates a list|checks balanced "
    "brackets|multiplies two matrices|computes a factorial|groups words by their first letter|"
    "finds common items of two lists|downloads a web page|generates a password|plays rock, paper, "
    "scissors|validates an e-mail address|writes a list to a JSON file|counts how often each "
    "letter occurs|finds the longest word|swaps keys and values of a dictionary"
)
SUMMARIES: Final = (
    "Summarise the following text in two sentences.\n\n{}",
    "{}\n\nSummarise this.",
    "What happens in this passage?\n\n{}",
    "Give this text a title and list its three main points.\n\n{}",
    "Who are the characters in this text, and what do they do?\n\n{}",
)
COPIES: Final = (
    "Correct the spelling and grammar of this text, and change nothing else.\n\n{}",
    "Repeat the following text word for word.\n\n{}",
    "{}\n\nTell it again.",
    "Rewrite this text in the present tense.\n\n{}",
    "Rewrite this in simpler words.\n\n{}",
    "Put each sentence of this text on a line of its own.\n\n{}",
)
EDITS: Final = (
    "Add a docstring to this function.\n\n```python\n{}\n```",
    "Add type hints to this code and print it whole.\n\n```python\n{}\n```",
    "Rename the function to `compute` and print the whole code.\n\n```python\n{}\n```",
    "Add comments to this code.\n\n```python\n{}\n```",
    "Here is some code:\n\n```python\n{}\n```\n\nPrint it again with better names.",
    "Explain what this code does.\n\n```python\n{}\n```",
    "Find the bug in this code and print the corrected code.\n\n```python\n{}\n```",
)
SUMS: Final = ("{}", "Question: {}\nAnswer:", "{} Think step by step.", "Solve this: {}")
SHARES: Final = {
    "own": 0.26,
    "open": 0.16,
    "lists": 0.08,
    "maths": 0.14,
    "stories": 0.06,
    "dialogues": 0.06,
    "python": 0.06,
    "edits": 0.07,
    "coding": 0.03,
    "summaries": 0.04,
    "copies": 0.04,
}
Passages = Callable[[], str]


def asked(corpus: str, count: int, seed: int) -> list[Question]:
    """`count` questions to learn from, and the app's own prompts, held out. Raises CorpusError."""
    chance = np.random.default_rng([seed, 3])
    held_out = [(domain, text) for domain, texts in prompts().items() for text in texts]
    taken = stretches(text for _, text in held_out)
    found = [Question(text, domain, True) for domain, text in held_out] * HELD_OUT_TURNS
    for domain, share in SHARES.items():
        made = _makers(corpus, domain, chance)
        wanted = round(share * count)
        while wanted > 0:
            text = next(made)
            if taken.isdisjoint(stretches([text])):
                found.append(Question(text, domain))
                wanted -= 1
    return found


def stretches(texts: Iterator[str] | Sequence[str]) -> set[str]:
    """Every stretch of COMMON letters, blanks evened out; of a shorter text, all of it."""
    found = set()
    for text in texts:
        even = " ".join(text.split())
        found |= {even[i : i + COMMON] for i in range(max(1, len(even) - COMMON + 1))} - {""}
    return found


def _makers(corpus: str, domain: str, chance: np.random.Generator) -> Iterator[str]:
    """Questions of a domain without end."""
    makers: dict[str, Callable[[], Iterator[str]]] = {
        "own": lambda: _said(lambda: ""),
        "open": lambda: _said(lambda: _over(OPEN, TOPICS, chance)),
        "lists": lambda: _said(lambda: _over(LISTS, TOPICS, chance)),
        "coding": lambda: _said(lambda: _over(CODING, TASKS, chance)),
        "maths": lambda: _sums(corpus, chance),
        "stories": lambda: _openings(_corpus(corpus, "tinystories"), chance),
        "dialogues": lambda: _dialogues(_corpus(corpus, "dialogues"), chance),
        "python": lambda: _heads(_functions(_corpus(corpus, "python")), chance),
        "edits": lambda: _filled(EDITS, _functions(_corpus(corpus, "python")), chance),
        "summaries": lambda: _passages(SUMMARIES, corpus, chance),
        "copies": lambda: _passages(COPIES, corpus, chance),
    }
    return makers[domain]()


def _said(make: Callable[[], str]) -> Iterator[str]:
    while True:
        yield make()


def _corpus(corpus: str, domain: str) -> list[str]:
    return list(documents(corpus, domain))


def _one(some: Sequence[str], chance: np.random.Generator) -> str:
    return some[int(chance.integers(len(some)))]


def _over(templates: Sequence[str], topics: str, chance: np.random.Generator) -> str:
    """A template filled in. topics: with | between them."""
    template, among = _one(templates, chance), topics.split("|")
    return template.format(*(_one(among, chance) for _ in range(template.count("{}"))))


def _filled(
    templates: Sequence[str], texts: Sequence[str], chance: np.random.Generator
) -> Iterator[str]:
    while True:
        yield _one(templates, chance).replace("{}", _one(texts, chance))


def _sums(corpus: str, chance: np.random.Generator) -> Iterator[str]:
    """Word problems, without their answers."""
    texts = [text.split("\nAnswer:")[0] for text in _corpus(corpus, "maths")]
    return _filled(SUMS, [text.removeprefix("Question:").strip() for text in texts], chance)


def _openings(texts: Sequence[str], chance: np.random.Generator) -> Iterator[str]:
    """How stories begin: one to three sentences, at times asked to go on from."""
    while True:
        sentences = re.split(r"(?<=[.!?]) +", " ".join(_one(texts, chance).split())[:600])
        begun = " ".join(sentences[: int(chance.integers(1, 4))])
        yield _one(("{}", "{}", "Go on with this story: {}"), chance).replace("{}", begun)


def _dialogues(texts: Sequence[str], chance: np.random.Generator) -> Iterator[str]:
    """How task dialogues begin, up to an answer."""
    while True:
        turns = _one(texts, chance).strip().split("\n")
        users = [i for i, turn in enumerate(turns[:8]) if turn.startswith("User:")]
        if users:
            end = users[int(chance.integers(len(users)))]
            yield "\n".join([*turns[: end + 1], "Assistant:"])


def _functions(texts: Sequence[str]) -> list[str]:
    """Short functions of the Python corpus, whole."""
    found = []
    for text in texts:
        for block in re.findall(r"^def .+(?:\n(?:[ \t]+.*|))+", text, flags=re.MULTILINE):
            if 150 <= len(block.strip()) <= PASSAGE[1]:
                found.append(block.strip())
    return found


def _heads(functions: Sequence[str], chance: np.random.Generator) -> Iterator[str]:
    """How functions begin, to be gone on with."""
    while True:
        lines = _one(functions, chance).split("\n")
        yield "\n".join(lines[: int(chance.integers(1, max(2, len(lines) // 2)))])


def _passages(templates: Sequence[str], corpus: str, chance: np.random.Generator) -> Iterator[str]:
    """Passages of stories and tales in whole sentences."""
    texts = _corpus(corpus, "tinystories") + _corpus(corpus, "fairytales")
    while True:
        text = " ".join(_one(texts, chance).split())
        begin = text.find(". ", int(chance.integers(max(1, len(text) - PASSAGE[1])))) + 2
        piece = text[begin : begin + int(chance.integers(*PASSAGE))]
        whole = piece[: piece.rfind(". ") + 1]
        if len(whole) >= PASSAGE[0] // 2:
            yield _one(templates, chance).replace("{}", whole)
