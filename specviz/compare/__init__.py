"""Several lanes and plain decoding on one prompt: run one after the other, compared by numbers.

Rule: what a lane says is computed from its trace; the prompts by domain are in `domains`.
"""
