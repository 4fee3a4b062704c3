"""A real run put to the proof: every verdict's law, and one prompt many times over."""
