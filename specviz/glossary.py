"""The glossary: the terms of the field, as the page explains them.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# Titles of terms whose key differs from their name.
TITLES: Final[Mapping[str, str]] = {
    "gamma": "γ (gamma)",
    "alpha": "α (alpha)",
    "c_hat": "ĉ",
    "verify": "v, checking",
    "p": "p, the target's probability",
    "q": "q, the drafter's probability",
    "tv": "TV, total variation",
    "coin": "u, the coin",
    "new coin": "u, the coin that selects a token",
    "threshold": "probability of acceptance",
    "draft": "drafter",
    "unreached": "not reached",
    "house": "House",
    "remainder": "p′ and q′, after a rejection",
    "above": "uncovered part",
    "pool": "candidates",
    "plain step": "plain token",
    "kept by depth": "acceptance by depth",
}
# Where more is shown about a term: titles and addresses, for Help.
LINKS: Final[Mapping[str, Mapping[str, str]]] = {
    "block verification": {
        "A recorded run: a guess saved": "?trace=11b-block",
        "Its average over many drafts": "?judged=1-eagle3-story,5,sampled,1,1",
        "Its output, computed exactly": "?case=block",
    },
    "traversal verification": {
        "Its average over many drafts": "?judged=1-eagle3-story,0,without-replacement,1,1",
        "Its output, computed exactly": "?case=traversal",
    },
}
TRAINED_ON: Final = (
    "children's stories, Python, sums, and dialogues about bookings"  # House's texts
)
GLOSSARY: Final[Mapping[str, str]] = {
    "speculative decoding": "A small model guesses the next tokens; the big one checks them all in "
    "one pass, and a rule decides which to keep. Under a lossless rule the result is that of the "
    "big model alone, in less time: the same words at temperature 0, otherwise the same "
    "distribution.",
    "target": "The big model, whose text we want. Its distribution for the next token is p.",
    "draft": "The cheap guesser: a small model or a rule. Its distribution for the next token is "
    "q.",
    "token": "A piece of text, often a word with the space before it. Models read and write "
    "tokens.",
    "pass": "The target reads one or more tokens and computes, for each, what may follow it.",
    "distribution": "For every token, the probability that it comes next. They sum to 1.",
    "house": "The small target model that ships with the page. It was trained on "
    f"{TRAINED_ON}, and knows nothing else.",
    "p": "The target's probability for a token, after temperature, top-k and top-p.",
    "q": "The probability with which the drafter sampled a token.",
    "both": "min(p, q): the part of p that the draft covers. Its sum over all "
    "tokens is α, the probability that a guess sampled from q is accepted.",
    "threshold": "A guess is accepted if its coin is below this number. The standard rule divides "
    "the target's probability by the drafter's: p ÷ q, or 1 where p is at least q; in short "
    "min(1, p ÷ q). A guess that was not sampled has no q, so the number is p itself. If a rule "
    "computes it in another way, the sentence of the verdict says how.",
    "confidence": "The drafter's own probability for a guess that it did not sample, but took from "
    "the top of its list. The rule does not use it.",
    "residual": "The part of p that exceeds q, max(p − q, 0), scaled to sum to 1. After a "
    "rejection the replacement is sampled from it. For a guess that was not sampled, the residual "
    "is p without that guess, scaled to sum to 1.",
    "remainder": "After a guess is rejected, its alternatives for the same position are judged "
    "by the residual, called p′, instead of p. If guesses are sampled without replacement, q′ is q "
    "without the rejected guesses, scaled to sum to 1.",
    "tv": "How different two distributions are: half the sum of |p − q| over all tokens. 0 if they "
    "are the same, 1 if no token has probability in both.",
    "gamma": "How many tokens the drafter guesses in a row.",
    "alpha": "The probability that one of the guesses for a position is accepted, averaged over "
    "judged positions. For one sampled guess it is the sum of min(p, q) over all tokens.",
    "coin": "A random number in [0, 1), fixed by the seed. A guess is accepted if its coin is "
    "below its probability of acceptance. A replacement or bonus has a coin of its own: the "
    "token in whose interval this coin falls is selected. At temperature 0 no coin is needed.",
    "new coin": "A random number in [0, 1), fixed by the seed. The token in whose interval it "
    "falls is the replacement or the bonus: the strip shows every token's interval, as wide as its "
    "probability.",
    "round": "One draft and one target pass. It adds every accepted guess and one token more.",
    "draft tree": "The guesses of a round. Each is to the right of the token that it would "
    "follow; guesses one above the other are alternatives (siblings) for the same "
    "position.",
    "node": "One guess in the draft tree.",
    "pool": "All guesses that were considered while a dynamic tree grew, kept or not.",
    "frontier": "The likeliest guesses of the newest level of a tree. Only these grow further.",
    "rerank": "The last step of a dynamic tree: the candidates with the highest "
    "totals stay, whatever their level.",
    "total": "The sum of the drafter’s log-probabilities along a path, from the first guess on. 0 "
    "is certain; every guess lowers it.",
    "ancestor mask": "What each row of the target’s pass may attend to: the text, the guesses "
    "before it on its own path, and itself. So the target reads every path as if it were the only "
    "text.",
    "acceptance by rank": "How often the target’s next token is the drafter’s best guess, its "
    "second best, and so on: the mean p of the token with that rank, measured on real texts.",
    "difference": "p − q: above 0 if the target gives a token more probability than the drafter, "
    "below 0 if less.",
    "above": "max(p − q, 0): the part of p that the draft does not cover. Scaled to sum to 1, it "
    "is the residual.",
    "lossless": "A rule is lossless if the text follows the target's distribution exactly, as in "
    "plain decoding. At temperature 0 the text is then the same, token by token.",
    "block verification": "Judges a sampled chain from its last guess back, by the reach: the "
    "running product min(1, reach × p ÷ q). So a strong later guess can save a weak earlier one. "
    "It is exact, and on average it never accepts fewer guesses than testing them one by one "
    "(Sun et al. 2024).",
    "traversal verification": "Judges a sampled tree from the leaves up, by the reach. It is "
    "exact. On a chain it is block verification.",
    "rule": "Decides which guesses are accepted, and what replaces a rejected one.",
    "hidden state": "The vector that a layer of a model computes for each token. The last "
    "layer's vector predicts the next token; many drafters read the target's hidden states.",
    "head": "A small network that predicts tokens from the target's hidden states. (An attention "
    "head is something else: a part of a layer.)",
    "mask token": "A placeholder for a token that is not known yet. With several "
    "placeholders, one pass can predict several positions. They are unrelated to the attention "
    "mask.",
    "block": "The guesses that one pass of a drafter makes at once. What a position knows of the "
    "guess before it differs from method to method.",
    "early draft": "A draft made while the target still checks the round before, for the likeliest "
    "outcome. If that does not come true, it is discarded.",
    "n-gram": "Several tokens in a row: a 3-gram is three.",
    "root": "The last token of the text, from which a draft tree starts.",
    "leaf": "A guess at the end of its branch: no guess follows it.",
    "depth": "How many guesses lead from the text to a guess, itself included.",
    "branch": "A path of guesses from the text to a leaf.",
    "position": "Where a token is in the text: +1 is the first after the text so far, +2 the "
    "second.",
    "temperature": "How random the text is. At 0 the most probable token is always taken; at 1 "
    "tokens are sampled with the model's own probabilities; above 1 unlikely ones come more often.",
    "greedy": "Always the most probable token: decoding at temperature 0.",
    "logits": "The scores that a model gives to all tokens. The softmax turns them into "
    "probabilities.",
    "softmax": "Turns scores into probabilities: exponentials, divided by their sum.",
    "entropy": "How unsure a distribution is: 0 if one token has all the probability, highest if "
    "all have the same.",
    "point mass": "A distribution with all its probability on one token: a guess that is chosen "
    "without randomness.",
    "G-test": "Compares counts with what a distribution predicts, and gives the probability that "
    "luck alone makes them differ more.",
    "bf16": "Numbers of 16 bits with the range of float32 and fewer digits. They take half the "
    "memory.",
    "waiting": "Guessed, not judged yet.",
    "accepted": "The guess stays in the text: its coin was below its probability of acceptance, "
    "or, under a rule that judges from the leaf up, a later guess was accepted.",
    "reach": "Under a rule that judges from the leaf up: how well the target's probabilities "
    "cover the drafter's on the path to a guess. It starts at 1; each guess makes it "
    "min(1, reach × p ÷ q). After a guess with p = 0.2 and q = 0.4 it is 0.5; after another with "
    "p = 0.6 and q = 0.4 it is 0.75.",
    "rejected": "The guess is dropped: its coin was not below its probability of acceptance.",
    "unreached": "Not judged: an earlier guess on its branch was rejected, or another branch was "
    "accepted.",
    "recovered": "Sampled from the residual to replace a rejected guess.",
    "bonus": "One more token, sampled from p after every guess on the branch was accepted.",
    "plain": "Sampled from p where nothing was drafted.",
    "accepted length": "The number of draft tokens accepted in a round.",
    "tokens per pass": "Accepted length + 1: the tokens that one target pass adds.",
    "baseline": "Plain decoding, measured after the run on the same machine with the same prompt "
    "and settings.",
    "recorded": "A real run, made earlier and replayed from its trace.",
    "live": "Made now, on the machine that serves this page.",
    "simulated": "Computed from formulas and data sheets, not measured.",
    "published": "From a paper or a note: measured with its models on its machines, not ours.",
    "measured": "Timed in a run on the named machine.",
    "computed exactly": "Summed over all that can happen, without random numbers.",
    "counted": "Counted by a server while it served, not by us.",
    "random rounds": "Rounds played here with random numbers, and counted.",
    "recorded positions": "Distributions that real models gave while real texts were written.",
    "this machine": "As this page's server finds it now.",
    "one round": "One target pass and the drafting before it. The first round, which reads the "
    "prompt, counts too.",
    "plain pass": "The target's pass over one new token in plain decoding, without the pass over "
    "the prompt: the unit of costs on the Cost tab, on the models' card and in the bench command.",
    "plain step": "The unit of costs on the Compare tab: the total time of plain decoding, "
    "which includes reading the prompt, divided by its tokens.",
    "brings": "Tokens that a round adds to the text: the accepted guesses and one from the target.",
    "costs": "The time of a round in plain tokens: drafting, the target pass, judging and "
    "updating the caches, and its share of reading the prompt.",
    "speed-up": "Tokens per second divided by those of plain decoding: what a round adds divided "
    "by what it costs.",
    "mean over domains": "For equally long texts of each domain, the time of plain decoding "
    "divided by the drafter's. This is the harmonic mean of the speed-ups, so one domain where "
    "copying is very fast cannot dominate it. Tokens per pass are averaged in the same way.",
    "tokens per second": "New tokens divided by the measured seconds of that drafter's own run.",
    "kept by depth": "For each depth, the share of judged positions at which a guess was "
    "accepted; alternatives count as one position. Depth 1 is the first after the text.",
    "FLOPs per token": "Arithmetic operations for each new token, of target and drafter together, "
    "including those for rejected guesses.",
    "extra files": "The size on disk of the weight files that the drafter adds to the target's.",
    "held in memory": "The size of what the drafter keeps in memory besides the target and the "
    "target's cache, added up over its tensors at the end of the run. It includes the drafter's "
    "own weights (2 bytes in a file become 4 in float32), packed copies of them, and its cache "
    "with the space reserved there. Tables that are not tensors are not counted.",
    "c": "The time to draft one token, divided by the time of a plain target pass.",
    "verify": "The time of the checking pass, in plain passes. 1 if checking guesses costs nothing "
    "extra; a large batch or a large tree raises it.",
    "c_hat": "The drafter's operations per token, divided by the target's.",
    "roofline": "The least time that a pass can take: the time to read its bytes or the time "
    "for its arithmetic, whichever is longer.",
    "batch": "Sequences decoded together. They share one reading of the weights.",
    "overhead": "The time that a pass takes beyond the roofline: Python, and starting each "
    "operation.",
}
