"""The house models' card, generated."""
