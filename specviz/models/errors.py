"""Why a model cannot be used: one class per reason, each message a sentence for a person.

Rule: all are ValueErrors, so that a caller who only wants the sentence catches one thing.
"""


class NotAvailable(ValueError):
    """The model is not on this machine and could not be fetched."""


class MismatchedVocabulary(ValueError):
    """Target and drafter do not mean the same words by the same token ids."""


class Unsuitable(ValueError):
    """The files are here, but this model, or this pair, cannot be used."""
