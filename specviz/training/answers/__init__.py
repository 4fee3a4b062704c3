"""Training heads for any Llama: its answers to questions, stored with its hidden states.

Nothing here is specific to the house models; a target is any folder or file that specviz can load.
"""
