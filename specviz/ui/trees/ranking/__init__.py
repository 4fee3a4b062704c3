"""The ranking lab: one tree, ranked in eight ways."""
