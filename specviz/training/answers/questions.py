"""Questions for a target: a JSON Lines file, made from templates and from the corpus.

A file depends only on (corpus, seed, count). It includes the prompts that specviz uses for
measurements, marked as held out: the target answers them, but no head is trained on these answers.
No other question shares a long passage with one of them.
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
    """A question for the target, which generates it itself if the text is empty."""

    text: str
    domain: str
    held_out: bool = False


def read_questions(path: Path) -> list[Question]:
    """Read a file of questions. Raises ValueError (none, or not valid), OSError."""
    found = []
    lines = (
        path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
    )  # splitlines would also split at other characters
    for number, line in enumerate(filter(None, lines), 1):
        try:
            row = json.loads(line)
            found.append(Question(row["text"], row["domain"], bool(row.get("held_out", False))))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f'Line {number} of {path.name} is not {{"text": …, "domain": …}}: {error}'
            ) from error
    if not found:
        raise ValueError(f"{path.name} has no questions.")
    return found


def write_questions(path: Path, questions: Iterable[Question]) -> None:
    """Write one question per line."""
    lines = (json.dumps(asdict(each), ensure_ascii=False) for each in questions)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


OVERLAP_LETTERS: Final = (
    60  # number of consecutive characters that a question must not share with a held-out prompt
)
PASSAGE: Final = (200, 620)  # minimum and maximum length of a passage, in characters
HELD_OUT_TURNS: Final = 4  # answers to each held-out prompt, one per temperature

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


def generate_questions(corpus: str, count: int, seed: int) -> list[Question]:
    """Generate questions for training, and add the prompts of measurements as held out.

    Raises CorpusError if the corpus cannot be read.

    Args:
        corpus: Folder or Hub data set of the corpus.
        count: Number of questions to train on.
        seed: Seed of the choice of templates, topics and passages.
    """
    rng = np.random.default_rng([seed, 3])
    held_out = [(domain, text) for domain, texts in prompts().items() for text in texts]
    taken = substrings(text for _, text in held_out)
    found = [Question(text, domain, True) for domain, text in held_out] * HELD_OUT_TURNS
    for domain, share in SHARES.items():
        made = _makers(corpus, domain, rng)
        wanted = round(share * count)
        while wanted > 0:
            text = next(made)
            if taken.isdisjoint(substrings([text])):
                found.append(Question(text, domain))
                wanted -= 1
    return found


def substrings(texts: Iterator[str] | Sequence[str]) -> set[str]:
    """Return a text's substrings of OVERLAP_LETTERS characters, or the shorter text itself."""
    found = set()
    for text in texts:
        even = " ".join(text.split())
        found |= {
            even[i : i + OVERLAP_LETTERS] for i in range(max(1, len(even) - OVERLAP_LETTERS + 1))
        } - {""}
    return found


def _makers(corpus: str, domain: str, rng: np.random.Generator) -> Iterator[str]:
    makers: dict[str, Callable[[], Iterator[str]]] = {
        "own": lambda: _repeat(lambda: ""),
        "open": lambda: _repeat(lambda: _fill_with_topics(OPEN, TOPICS, rng)),
        "lists": lambda: _repeat(lambda: _fill_with_topics(LISTS, TOPICS, rng)),
        "coding": lambda: _repeat(lambda: _fill_with_topics(CODING, TASKS, rng)),
        "maths": lambda: _sums(corpus, rng),
        "stories": lambda: _openings(_corpus(corpus, "tinystories"), rng),
        "dialogues": lambda: _dialogues(_corpus(corpus, "dialogues"), rng),
        "python": lambda: _heads(_functions(_corpus(corpus, "python")), rng),
        "edits": lambda: _fill_with_texts(EDITS, _functions(_corpus(corpus, "python")), rng),
        "summaries": lambda: _passages(SUMMARIES, corpus, rng),
        "copies": lambda: _passages(COPIES, corpus, rng),
    }
    return makers[domain]()


def _repeat(make: Callable[[], str]) -> Iterator[str]:
    while True:
        yield make()


def _corpus(corpus: str, domain: str) -> list[str]:
    return list(documents(corpus, domain))


def _choose(choices: Sequence[str], rng: np.random.Generator) -> str:
    return choices[int(rng.integers(len(choices)))]


def _fill_with_topics(templates: Sequence[str], topics: str, rng: np.random.Generator) -> str:
    # Topics are separated by `|`.
    template, among = _choose(templates, rng), topics.split("|")
    return template.format(*(_choose(among, rng) for _ in range(template.count("{}"))))


def _fill_with_texts(
    templates: Sequence[str], texts: Sequence[str], rng: np.random.Generator
) -> Iterator[str]:
    while True:
        yield _choose(templates, rng).replace("{}", _choose(texts, rng))


def _sums(corpus: str, rng: np.random.Generator) -> Iterator[str]:
    texts = [text.split("\nAnswer:")[0] for text in _corpus(corpus, "maths")]
    return _fill_with_texts(SUMS, [text.removeprefix("Question:").strip() for text in texts], rng)


def _openings(texts: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    while True:
        sentences = re.split(r"(?<=[.!?]) +", " ".join(_choose(texts, rng).split())[:600])
        opening = " ".join(sentences[: int(rng.integers(1, 4))])
        yield _choose(("{}", "{}", "Go on with this story: {}"), rng).replace("{}", opening)


def _dialogues(texts: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    while True:
        turns = _choose(texts, rng).strip().split("\n")
        users = [i for i, turn in enumerate(turns[:8]) if turn.startswith("User:")]
        if users:
            end = users[int(rng.integers(len(users)))]
            yield "\n".join([*turns[: end + 1], "Assistant:"])


def _functions(texts: Sequence[str]) -> list[str]:
    found = []
    for text in texts:
        for block in re.findall(r"^def .+(?:\n(?:[ \t]+.*|))+", text, flags=re.MULTILINE):
            if 150 <= len(block.strip()) <= PASSAGE[1]:
                found.append(block.strip())
    return found


def _heads(functions: Sequence[str], rng: np.random.Generator) -> Iterator[str]:
    while True:
        lines = _choose(functions, rng).split("\n")
        yield "\n".join(lines[: int(rng.integers(1, max(2, len(lines) // 2)))])


def _passages(templates: Sequence[str], corpus: str, rng: np.random.Generator) -> Iterator[str]:
    texts = _corpus(corpus, "tinystories") + _corpus(corpus, "fairytales")
    while True:
        text = " ".join(_choose(texts, rng).split())
        begin = text.find(". ", int(rng.integers(max(1, len(text) - PASSAGE[1])))) + 2
        piece = text[begin : begin + int(rng.integers(*PASSAGE))]
        whole = piece[: piece.rfind(". ") + 1]
        if len(whole) >= PASSAGE[0] // 2:
            yield _choose(templates, rng).replace("{}", whole)
