"""Code shared by several drafter families: building drafts, reading heads, layers, training."""
