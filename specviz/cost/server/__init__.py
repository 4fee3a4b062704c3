"""Statistics of a server that decodes speculatively: parse them and predict the best γ.

Text from outside is bounded and checked, and refused with one sentence if it cannot be used. Values
that a server does not report are never filled in.
"""
