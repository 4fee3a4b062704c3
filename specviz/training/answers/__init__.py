"""Training data of heads for any Llama: its answers to questions, with its hidden states.

Nothing here is specific to the shipped models; a target is any folder or file that specviz can
load.
"""
