"""The roofline: what a pass costs by its tokens."""
