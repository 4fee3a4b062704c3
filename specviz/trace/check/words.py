"""The bytes of tokens: one spelling an id, and one for every id that the text or a guess has."""

from __future__ import annotations

from specviz.trace.check.demands import demand
from specviz.trace.events import Vocabulary
from specviz.trace.file import Trace


def check_vocabulary(trace: Trace) -> None:
    """Raise CheckFailed where an id is spelled in two ways, or one that was used in none."""
    known: dict[str, str] = {}
    header = trace.header
    for event in trace.events:
        if isinstance(event, Vocabulary):
            for token, spelling in event.tokens.items():
                inside = 0 <= int(token) < header.vocab_size and token == str(int(token))
                demand(inside, "Vocabulary", f"{token!r} is no token id")
                once = known.setdefault(token, spelling) == spelling
                demand(once, "Vocabulary", f"token {token} is spelled in two ways")
    for piece, ids in header.chat.tokens(header.prompt_ids) if header.chat else ():
        # Other tokens need not spell their letters: a tokenizer may change these first.
        spelled = [known.get(str(token)) for token in ids]
        told = piece.kind != "special" or spelled == [piece.text.encode().decode("latin-1")]
        demand(told, "Chat", f"its special token is not spelled {piece.text!r:.40}")
    for played in trace.rounds:
        guesses = played.proposed.guesses if played.proposed else []
        used = [guess.token for guess in guesses]
        used += played.committed.tokens if played.committed else []
        missing = [token for token in used if str(token) not in known]
        demand(not missing, f"Round {played.number}", f"no bytes for tokens {missing[:3]}")
