"""Check a real run: the output distribution at every check, and one prompt run many times."""
