"""The costs of public models' shapes on this machine: random weights, times and bytes, no text."""
