"""Cost and speed-up of speculative decoding, predicted by formulas: the arithmetic of the Cost tab.

Predictions are marked simulated, published numbers have their source, and measured values are never
mixed with either. No module here imports torch.
"""
