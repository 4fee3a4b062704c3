"""The shipped prompts by domain, recorded, or measured here."""
