"""The Trees tab; each section has a folder."""
