"""The roofline: pass time by number of tokens and batch size."""
