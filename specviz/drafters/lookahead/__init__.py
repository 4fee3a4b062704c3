"""Lookahead decoding: n-grams that the target gathers beside its passes."""
