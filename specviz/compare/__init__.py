"""Run several lanes and plain decoding on one prompt, one after the other, and compare them.

The numbers of a lane are computed from its trace. `domains` compares drafters on all shipped
prompts.
"""
