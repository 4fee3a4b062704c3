"""DFlash: a block of masks, filled in one pass of a small bidirectional head."""
