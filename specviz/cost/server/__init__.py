"""What a server that decodes speculatively says of itself: read strictly, and what follows from it.

Rule: a text from outside is data: bounded, checked, and refused with one sentence where it cannot
be used. What a server does not say is not filled in. Standard library only.
"""
