"""Exceptions for models and prompts that cannot be used or loaded; users see the messages.

All are ValueErrors, so a caller that only shows the message can catch one class.
"""


def is_panic(error: BaseException) -> bool:
    """Return whether an error comes from a library in Rust, whose errors may be no Exceptions."""
    return type(error).__name__ == "PanicException"


class BadPrompt(ValueError):
    """Raised if a prompt cannot be run; the message explains why."""


class NotAvailable(ValueError):
    """Raised if a model is not on this machine and could not be fetched."""


class DiskFull(NotAvailable):
    """Raised if the disk is full, so that the caller does not try to fetch from another source."""


class UnknownModel(NotAvailable):
    """Raised if a name is neither a path, nor a Hub id, nor in the catalogue."""


class HubUnreachable(NotAvailable):
    """Raised if there is no connection to the Hub."""


class MismatchedVocabulary(ValueError):
    """Raised if target and drafter assign different tokens to the same ids."""


class Unsuitable(ValueError):
    """Raised if files are on this machine, but the model or the pair cannot be used."""


class ServerFault(ValueError):
    """Raised if a target's server is down, slow or too old, or its response is unusable."""


class Stopped(ValueError):
    """Raised in a fetch or a load that its caller cancelled."""
