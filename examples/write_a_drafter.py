"""Write a drafter, let it draft for the house target, and check that it keeps the contract.

    python examples/write_a_drafter.py

The drafter guesses that the next tokens are those that followed the last two tokens before.
`docs/writing-a-drafter.md` explains the protocol, and how a row in a catalogue makes such a class
known to the command line and the page.
"""

import specviz
from specviz.drafters.common.base import Weightless
from specviz.drafters.contract import Case, check_drafter
from specviz.engine.protocol import Proposal
from specviz.trace import metrics
from specviz.verification import Drawn
from specviz.verification.tree import DraftTree

PROMPT = "The cat sat on the mat. The cat sat on the"


class PairLookup(Weightless):
    """A drafter that looks up what followed the last two tokens. It has no weights."""

    name = "pair-lookup"

    def begin(self, target, settings):
        """Return the session of one run."""
        return PairLookupSession(target.target.eos)


class PairLookupSession:
    """The state of one run. This drafter needs none: the context holds all that it reads."""

    drawn = Drawn.POINT_MASS  # its guesses are not sampled, so q is 1 for each of them

    def __init__(self, eos):
        self.eos = eos

    def propose(self, context, max_tokens, chance):
        """Guess a chain of at most max_tokens - 1 tokens, and nothing after an end of text."""
        text = list(context)
        followers = {(a, b): c for a, b, c in zip(text, text[1:], text[2:], strict=False)}
        guesses = []
        while len(guesses) < max_tokens - 1 and (pair := tuple(text[-2:])) in followers:
            guesses.append(followers[pair])
            text.append(followers[pair])
            if guesses[-1] in self.eos:
                break
        return Proposal(DraftTree.chain(context[-1], guesses), self.drawn)

    def commit(self, tokens, states, extra_rows=None):
        """Receive the tokens that a round added. There is nothing to keep."""


def main():
    """Run the drafter, print what it achieved, and check the contract."""
    target = specviz.load_target("house")
    settings = specviz.Settings(specviz.Sampling(temperature=0), gamma=6, max_new_tokens=32)
    header, *events = specviz.decode(target, PairLookup(), PROMPT, settings)
    trace = specviz.Trace(header, events)
    print(PROMPT + metrics.text(trace))
    print(f"{metrics.summary(trace)['tokens_per_pass']:.2f} tokens per target pass")

    checks = ["greedy output equals `generate`", "sessions are independent"]
    case = Case(lambda: target, lambda target: PairLookup(), [PROMPT, "red red red red"])
    check_drafter(case, checks)
    print(f"It passes {len(checks)} of the contract's checks; check_drafter(case) runs all.")


if __name__ == "__main__":
    main()
