"""Cost and speed-up of speculative decoding, predicted by formulas, for the Cost tab.

Predictions are marked as simulated, published numbers are shown with their source, and measured
values are never mixed with either. No module here imports torch.
"""
