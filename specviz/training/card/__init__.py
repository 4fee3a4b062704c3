"""Model cards, generated from manifests and measurements."""
