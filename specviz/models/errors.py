"""Errors for models and prompts that cannot be used, or not loaded, with messages for users.

All are ValueErrors, so a caller that only shows the message can catch one class.
"""


class BadPrompt(ValueError):
    """The prompt cannot be run; the message explains why."""


class NotAvailable(ValueError):
    """The model is not on this machine and could not be fetched."""


class DiskFull(NotAvailable):
    """The model could not be fetched because the disk is full. Do not try another source."""


class UnknownModel(NotAvailable):
    """The name is neither a path nor a Hub id, and the catalogue has no such model."""


class HubUnreachable(NotAvailable):
    """There is no connection to the Hub."""


class MismatchedVocabulary(ValueError):
    """Target and drafter assign different tokens to the same ids."""


class Unsuitable(ValueError):
    """The files are on this machine, but this model or this pair cannot be used."""


class ServerFault(ValueError):
    """A target's server is down, slow or too old, or sends an unusable response."""


class Stopped(ValueError):
    """A fetch or a load was cancelled by its caller."""
