"""The small models that ship with the app: data, networks, training, evaluation, card.

Rule: what is trained here leaves as an ordinary transformers checkpoint; nothing here is needed
to run one, and nothing here imports the screen.
"""
