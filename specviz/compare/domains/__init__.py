"""Compare drafters on the shipped prompts, domain by domain."""
