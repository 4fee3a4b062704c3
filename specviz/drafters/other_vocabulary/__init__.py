"""A draft model whose tokenizer is not the target's."""
