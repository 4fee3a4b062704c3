"""The speed law, with the last run on its surface."""
