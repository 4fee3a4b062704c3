"""Compare drafters on one prompt: how many tokens a target pass yields, and how fast that is.

    python examples/compare_drafters.py [DRAFTER ...]

Each run is followed by plain decoding of the same prompt, so that the two are timed side by side.
`python -m specviz models` lists the names; `python -m specviz compare` does this more carefully,
in shuffled order and with the reasons.
"""

import sys

import specviz
from specviz.trace import metrics

PROMPT = "The old man went to the sea. The old man went to the"
DRAFTERS = ("draft-model", "eagle3", "ngram")


def measure(target, name):
    """Decode with one drafter at temperature 0 and return its numbers."""
    drafter = specviz.load_drafter(name, target)
    settings = specviz.Settings(specviz.Sampling(temperature=0), max_new_tokens=48)
    header, *events = specviz.decode(target, drafter, PROMPT, settings)
    trace = specviz.Trace(header, events)
    return metrics.summary(trace)


def main(names):
    """Print one line per drafter."""
    target = specviz.load_target("house")
    print(f"{'drafter':<12} {'tokens/pass':>11} {'accepted':>8} {'speed-up':>8}")
    for name in names:
        found = measure(target, name)
        print(
            f"{name:<12} {found['tokens_per_pass']:>11.2f} {found['acceptance_rate']:>8.0%}"
            f" {found['speedup']:>7.2f}x"
        )


if __name__ == "__main__":
    main(sys.argv[1:] or DRAFTERS)
