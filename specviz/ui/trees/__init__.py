"""The Trees tab, one folder a section."""
