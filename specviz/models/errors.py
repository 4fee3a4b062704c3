"""Why a model or a prompt cannot be used: one class per reason, with messages for people.

All are ValueErrors, so that a caller who only shows the message can catch one class.
"""


class BadPrompt(ValueError):
    """A prompt that cannot be run; the message is for the person who wrote it."""


class NotAvailable(ValueError):
    """The model is not on this machine and could not be fetched."""


class DiskFull(NotAvailable):
    """The model could not be fetched because the disk is full; no other source would help."""


class UnknownModel(NotAvailable):
    """The name is neither a path nor a Hub id, and the catalogue has no such model."""


class HubUnreachable(NotAvailable):
    """There is no connection to the Hub."""


class MismatchedVocabulary(ValueError):
    """Target and drafter assign different tokens to the same ids."""


class Unsuitable(ValueError):
    """The files are here, but this model or this pair cannot be used."""


class ServerFault(ValueError):
    """A target's server is down, slow, too old, or answers something unusable."""
