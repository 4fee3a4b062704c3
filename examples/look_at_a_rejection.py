"""Run the house models and look closely at the first rejection.

    python examples/look_at_a_rejection.py

The draft model samples a guess x from its distribution q. The target accepts it with probability
min(1, p(x) / q(x)). If it rejects, the replacement is sampled from the part of p above q. Together
the two follow p exactly, which this script recomputes from the trace.
"""

import specviz

PROMPT = (
    "Once upon a time, there was a little girl named Mia who lived at the edge of a forest. "
    "One morning she found a tiny door in an old tree"
)


def first_rejection(trace):
    """Return the first round that ends with a rejection, and the guess that was rejected."""
    for played in trace.rounds:
        if played.judged and not played.judged[-1].accepted:
            return played, played.judged[-1]
    raise SystemExit("Nothing was rejected in this run; try another seed.")


def main():
    """Decode 40 tokens as the page's first recorded run does, then print the rejection."""
    target, drafter = specviz.load("house", "draft-model")
    sampling = specviz.Sampling(temperature=0.8)
    settings = specviz.Settings(sampling, gamma=4, max_new_tokens=40, seed=685)
    header, *events = specviz.decode(target, drafter, PROMPT, settings)
    trace = specviz.Trace(header, events)
    played, judged = first_rejection(trace)

    words = {token: spelling.decode() for token, spelling in trace.vocabulary.items()}
    guess = played.proposed.guesses[judged.node - 1].token
    p, q = judged.inputs["p"], judged.inputs["q"]
    print(f"Round {played.number}: the draft guessed {words[guess]!r}.")
    print(f"  target p = {p:.3f}, drafter q = {q:.3f}")
    print(f"  accepted with probability min(1, p / q) = {min(1, p / q):.3f}")
    print(f"  u = {judged.u:.3f} is not below it, so the guess is rejected.")

    rows = judged.rows
    residual = [max(p - q, 0) for p, q in zip(rows.p, rows.q, strict=True)]
    total = sum(residual) + rows.rest_residual
    print("\nThe replacement is sampled from what p has above q, scaled to 1:\n")
    print(f"{'token':>12}  {'p':>6}  {'q':>6}  {'p - q':>6}  {'chance':>6}")
    for token, p, q, above in zip(rows.tokens, rows.p, rows.q, residual, strict=True):
        print(f"{words[token]!r:>12}  {p:6.3f}  {q:6.3f}  {p - q:+6.3f}  {above / total:6.3f}")
    print(f"{rows.rest_tokens:>5} others  {rows.rest_p:6.3f}  {rows.rest_q:6.3f}", end="  ")
    print(f"{rows.rest_p - rows.rest_q:+6.3f}  {rows.rest_residual / total:6.3f}")
    print(f"\nu = {played.drew.drawn.u:.3f} selects {words[played.drew.token]!r}.")


if __name__ == "__main__":
    main()
