"""Published speed-ups, each with its source."""
