"""LayerSkip: the target's own first layers draft."""
