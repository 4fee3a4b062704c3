"""Statistics of a server that decodes speculatively: parse them and predict the best γ.

Text from outside is limited in size and checked; if it cannot be used, the error is one sentence.
Values that a server does not report are never invented.
"""
