"""Your server's statistics: paste them, and see what another γ would change."""
