"""Growing a draft tree, expansion by expansion."""
