"""The field's words, each with one meaning: code, screen, glossary and lessons take them from here.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# What a term is called where its key is not its name.
TITLES: Final[Mapping[str, str]] = {
    "gamma": "γ (gamma)",
    "alpha": "α (alpha)",
    "c_hat": "ĉ",
    "verify": "v, checking",
    "p": "p, the target's chance",
    "q": "q, the drafter's chance",
    "tv": "TV, total variation",
    "coin": "u, the coin",
    "draft": "drafter",
    "unreached": "not reached",
    "house": "House",
}
TRAINED_ON: Final = "children's stories, dialogues about bookings, Python and sums"  # House
GLOSSARY: Final[Mapping[str, str]] = {
    "speculative decoding": "A small model guesses the next tokens; the big one checks them all in "
    "one pass and keeps what it can. The text is exactly what the big one alone would have "
    "written, sooner.",
    "target": "The big model: the one whose text we want. Its law for the next token is p.",
    "draft": "The cheaper guesser, a small model or a rule. Its law for the next token is q.",
    "token": "A piece of text, often a word with the space before it: what models read and write.",
    "pass": "The target reads some tokens once, and says what may follow each of them.",
    "law": "All tokens with their chances to come next; together they make 1.",
    "house": "House, the target here: a small model that ships with the page. It was trained on "
    f"{TRAINED_ON}, and knows nothing else.",
    "p": "The chance that the target gives a token, after temperature, top-k and top-p.",
    "q": "The chance with which the drafter drew a token.",
    "both": "min(p, q): the part of p that the draft covers. Its sum is the acceptance chance α.",
    "residual": "What p has above q, max(p − q, 0), scaled to 1: what a rejection draws from.",
    "tv": "How far one law lies from another: half the sum of their differences, token by token. 0 "
    "where they are the same, 1 where they share nothing.",
    "gamma": "How many tokens the drafter guesses in a row.",
    "alpha": "The chance that a judged position keeps one of its guesses, before any coin "
    "falls, averaged over judged positions. One sampled guess: Σ min(p, q). Sampled siblings: "
    "1 − Π(1 − min(1, p/q)), given the guesses, each p (and q) as the rejections before leave it. "
    "Fixed guesses: the sum of their p.",
    "coin": "A number in [0, 1) fixed by the seed. A guess is kept if u falls below its chance.",
    "round": "One draft and one target pass. It adds every kept guess and one token more.",
    "draft tree": "The guesses of a round: each stands right of the token that it would follow; "
    "those one above the other are alternatives for the same place.",
    "node": "One guess in the draft tree.",
    "pool": "All guesses that were weighed while a dynamic tree grew, kept or not.",
    "frontier": "The likeliest guesses of the newest level of a tree: only they are read on.",
    "rerank": "The last choice in a dynamic tree: of the whole pool, the guesses with the highest "
    "totals are kept, whatever their level.",
    "total": "The sum of the drafter’s log-probabilities along a path, from the first guess on. 0 "
    "is sure; every guess makes it less.",
    "ancestor mask": "What each row of the target’s pass may see: the text, the guesses above it "
    "in the tree, and itself. To the target every path is then a text of its own.",
    "acceptance by rank": "How often the target’s next token is the drafter’s best guess, its "
    "second, and so on: the mean of the target’s p, measured over real texts.",
    "difference": "p − q: above 0 where the target gives a token more chance than the drafter, "
    "below where less.",
    "above": "p − q where that is above 0: what the target has to give beyond the draft. "
    "Its sum is what a rejection draws from.",
    "waiting": "Guessed and not judged yet.",
    "accepted": "The guess was kept: its coin fell below the chance of keeping it, or, judged from "
    "the leaf up, that of a guess after it did.",
    "reach": "Where judging goes from the leaf up: the share of the draft's chance of coming to a "
    "guess that the target's chance can cover. 1 at the start; each guess makes it min(1, reach × "
    "p ÷ q), so a weak one lowers it and a strong one raises it again.",
    "rejected": "The guess was dropped: its coin fell at or above the chance of keeping it.",
    "unreached": "Not judged: an earlier guess on its branch fell, or another branch was kept.",
    "recovered": "Drawn from the residual, in place of a rejected guess.",
    "bonus": "One token more, drawn from p after every guess on the branch was kept.",
    "plain": "Drawn from p where nothing was drafted.",
    "accepted length": "Draft tokens kept in a round.",
    "tokens per pass": "Accepted length + 1: what one target pass brings.",
    "baseline": "Plain decoding, measured after the run on the same machine, prompt and settings.",
    "recorded": "A real run, made earlier and replayed from its trace.",
    "live": "Made now, on this machine.",
    "simulated": "Computed from formulas and data sheets, not measured.",
    "published": "From a paper or a note: its models and machines, not ours.",
    "measured": "Timed in a run on the machine that is named.",
    "one round": "One target pass and the drafting before it. The first, which reads the prompt, "
    "counts too.",
    "plain pass": "The target's pass over one new token in plain decoding, the prompt's pass left "
    "out: the unit of costs on Cost, on the models' card and in bench.",
    "plain token": "What plain decoding takes for a token, with its share of reading the prompt: "
    "all its seconds by all its tokens. The unit of costs on Compare.",
    "brings": "Tokens that a round adds to the text: the guesses kept, and one of the target's.",
    "costs": "What a round takes, in plain tokens: drafting, the target pass, the rest, and its "
    "share of reading the prompt.",
    "speed-up": "Tokens per second by plain decoding's: what a round brings by what it costs.",
    "mean over domains": "Over as much text of each domain: plain decoding's time for it by the "
    "drafter's. It is the harmonic mean of the speed-ups, which one domain of fast copying cannot "
    "carry; tokens a pass likewise.",
    "tokens per second": "New tokens by the seconds that the lane itself took, measured.",
    "kept by depth": "Of the positions judged at each depth, the share where a guess was kept; "
    "siblings share a position. Depth 1 is the first after the text.",
    "FLOPs per token": "Arithmetic for each new token, of target and drafter together, fallen "
    "guesses' included.",
    "extra files": "The weight files that the drafter adds to the target's, on disk.",
    "held in memory": "What the drafter keeps in memory beside the target and the target's cache, "
    "read from its tensors at the end of the run: weights of its own (2 bytes in a file are 4 in "
    "float32), packed copies of them, and its cache with the room kept for more. Tables that are "
    "no tensors are left out.",
    "c": "The time of drafting one token, as a share of a plain target pass.",
    "verify": "The time of the checking pass, in plain passes. 1 where guesses are checked for "
    "nothing; a large batch or a large tree makes it more.",
    "c_hat": "The drafter's operations per token, as a share of the target's.",
    "roofline": "The least time a pass can take: reading its bytes or its arithmetic, the longer.",
    "batch": "Sequences decoded side by side. They share one reading of the weights.",
    "overhead": "What a pass takes beyond the roofline: Python, and the start of each operation.",
}
