"""The speed-up formula, with the last run as a point on its surface."""
