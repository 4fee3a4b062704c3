"""Training of the small models that ship with specviz: data, networks, evaluation and model cards.

Everything trained here is saved as an ordinary transformers checkpoint. Running a checkpoint needs
nothing from this package, and nothing here imports the user interface.
"""
