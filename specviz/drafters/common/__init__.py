"""What several families of drafters share: growing drafts, reading heads, layers, training."""
