"""What differs between a drafter here and the paper that it comes from, in words for the card.

Rule: a sentence or two each, true to the code named in the catalogue; one entry a drafter.
"""

from __future__ import annotations

from typing import Final

HEADS: Final = (
    "All heads were trained on the finished, frozen target, one pass of which served them all, and "
    "learned its law at every position rather than the text's token, except where said. Most "
    "papers train multi-token heads and blockwise heads jointly with the trunk; on a frozen one "
    "they are weaker. All share the target's embeddings, and all but EAGLE-3 its output projection."
)


DIFFERENCES: Final[dict[str, str]] = {
    "draft-model": (
        "The draft model of a pair is usually trained apart from its target; this one learned the "
        "target's law (as in DistillSpec, 2310.08461, but on the corpus, not on the target's own "
        "text), so it agrees more than one trained on the text alone would. Beside two "
        "layers it has to compute the same vocabulary as the target: nearly half of its parameters."
    ),
    "layerskip": (
        "The paper (2404.16710) trains far larger models, sums the losses of several exits with "
        "weights that grow with depth, and rotates through groups of exits; the target here had "
        "one exit a step, with a fixed weight."
    ),
    "eagle": (
        "As the paper (2401.15077): features by SmoothL1, a little cross-entropy to the target's "
        "law. Left out is the noise that the paper adds to features while training."
    ),
    "eagle2": (
        "EAGLE's own head and file; the tree is grown as in the paper (2406.16858), which had up "
        "to 60 guesses for larger targets."
    ),
    "eagle3": (
        "As the paper (2503.01840), with a smaller unrolling while training (5 steps; its code has "
        "7) and three quarters of the target's small vocabulary as draft vocabulary."
    ),
    "medusa": (
        "Medusa-1 (2401.10774): heads on a frozen target. The paper's heads learn the text's "
        "tokens and have output projections of their own; its typical acceptance, which is not "
        "lossless, is not used."
    ),
    "blockwise": (
        "The paper (1811.03115) trains heads and trunk together, or tunes the trunk, and takes one "
        "head at random a step; here the trunk is frozen and every head learns at every step. Its "
        "relaxed acceptance, which is not lossless, is not used."
    ),
    "mtp": (
        "DeepSeek-V3 (2412.19437) trains its modules together with the model; here one module "
        "learned on the frozen target. It is used again for every guess beyond the first, and was "
        "trained on its own outputs for that."
    ),
    "mtp-parallel": (
        "The paper (2404.19737) trains the layers together with the trunk, which learns to plan "
        "ahead; here the trunk is frozen, and the layers have narrower MLPs than the target's."
    ),
    "lmtp": (
        "The paper (2505.17505) warms the heads up and then tunes the model with them; here only "
        "the first of the two stages is done, since the target is frozen."
    ),
    "moa": (
        "As the public code of the paper (2410.03804), with narrow layer self-attention and "
        "without target layer inference. The paper draws where each stretch of training begins; "
        "here all beginnings count."
    ),
    "dflash": (
        "The paper (2602.06036) has about five layers and blocks of 16; the house head has two, "
        "with narrow MLPs, and blocks of 8. An end-of-text token stands for the mask."
    ),
    "ngram": "As prompt lookup in transformers and vLLM; there is nothing to train.",
    "suffix": (
        "The paper (2411.04975) also keeps a tree of other people's outputs; here there is this "
        "run's text alone."
    ),
    "lookahead": (
        "As the paper (2402.02057) with a smaller window: a CPU has less arithmetic to spare than "
        "the GPUs of the paper. Its rows take the target's top token at any temperature."
    ),
    "oracle": "No paper: the target drafts for itself, the upper end of acceptance.",
    "uniform": "No paper: a blind guess, the lower end of acceptance.",
}


# Where a draft here is smaller than its paper's, or shaped otherwise. guesses: of the usual draft,
# at most; heads: of the house checkpoint. Both are filled in from the catalogue and the configs.
SIZES: Final[dict[str, str]] = {
    "eagle": "The usual tree here has {guesses} guesses; that of the paper's code has 25.",
    "eagle2": "The usual tree here has {guesses}.",
    "eagle3": "The usual tree, grown as EAGLE-2's, has {guesses} guesses here.",
    "medusa": (
        "Here are {heads} heads and a tree of {guesses} guesses; the paper's code makes 5 heads "
        "for Vicuna, and its tree has 63."
    ),
    "mtp-parallel": (
        "The paper drafts greedy chains; the tree here, of {guesses} guesses, is our choice."
    ),
    "lmtp": "The usual tree here has {guesses} guesses from {heads} heads.",
    "moa": (
        "The tree, grown as EAGLE-2's, has {guesses} guesses here, where EAGLE-2's had up to 60."
    ),
}
