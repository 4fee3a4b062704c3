"""A causal language model that scores a draft tree: cache, passes, devices, checkpoints."""
