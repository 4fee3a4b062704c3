"""A draft model whose tokenizer differs from the target's."""
