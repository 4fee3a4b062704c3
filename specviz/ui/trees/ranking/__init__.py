"""The ranking lab: one tree, eight ways to rank it."""
