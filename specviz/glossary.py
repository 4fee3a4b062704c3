"""The field's words, each with one meaning: code, screen, tooltips and lessons take them from here.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GLOSSARY: Final[Mapping[str, str]] = {
    "target": "The model whose text we want. Its law for the next token is p.",
    "draft": "The cheaper guesser. Its law for the next token is q.",
    "p": "The chance that the target gives a token, after temperature, top-k and top-p.",
    "q": "The chance with which the drafter drew a token.",
    "both": "min(p, q): the part of p that the draft covers. Its sum is the acceptance chance α.",
    "residual": "What p has above q, max(p − q, 0), scaled to 1: what a rejection draws from.",
    "gamma": "γ: how many tokens the drafter guesses in a row.",
    "alpha": "α: the chance that a judged guess is kept, averaged over judged positions.",
    "coin": "u: a number in [0, 1) fixed by the seed. A guess is kept if u falls below its chance.",
    "round": "One draft and one target pass. It adds every kept guess and one token more.",
    "node": "One guess in the draft tree.",
    "waiting": "Guessed and not judged yet.",
    "accepted": "The guess was kept: its coin fell below the chance of keeping it.",
    "rejected": "The guess was dropped: its coin fell at or above the chance of keeping it.",
    "unreached": "Not judged: an earlier guess on its branch fell, or a sibling was kept.",
    "recovered": "Drawn from the residual, in place of a rejected guess.",
    "bonus": "One token more, drawn from p after every guess on the branch was kept.",
    "plain": "Drawn from p where nothing was drafted.",
    "accepted length": "Draft tokens kept in a round.",
    "tokens per pass": "Accepted length + 1: what one target pass brings.",
    "baseline": "Plain decoding, measured after the run on the same machine, prompt and settings.",
    "recorded": "A real run, made earlier and replayed from its trace.",
    "live": "Made now, on this machine.",
    "simulated": "Computed from a formula or a data sheet, not measured.",
    "published": "Reported by others, on their models and machines; the source is named.",
    "measured": "Timed on this machine, in a run that you can see.",
    "plain pass": "Plain decoding's seconds for one token, the reading of the prompt shared out.",
    "brings": "Tokens that a round adds to the text, on average: its kept guesses and one more.",
    "costs": "How long a round takes, in plain passes: drafting, the target pass, and the rest.",
    "speed-up": "Tokens a second, divided by plain decoding's: brings divided by costs.",
    "c": "c: the seconds that drafting one token takes, divided by those of a plain target pass.",
    "flops per token": "Arithmetic of target and drafter for each new token, fallen guesses' too.",
    "extra memory": "Bytes of weights that the drafter adds to the target's.",
    "by depth": "By depth of the draft: of the places judged, the share where a guess was kept.",
    "roofline": "A pass takes the longer of two times: reading its bytes, or doing its arithmetic.",
    "batch": "How many texts one pass works on at once.",
    "seed": "It fixes every coin, so a run can be made again.",
}
