"""Your server's numbers: pasted, read, and what another γ would bring."""
