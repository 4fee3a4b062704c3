"""What a public model's shape costs on this machine: random weights, times and bytes, no text."""
