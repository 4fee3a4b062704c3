"""DFlash: one pass of a small bidirectional head fills a block of masks."""
