"""Why a model or a prompt cannot be used: one class a reason, each message a sentence for people.

Rule: all are ValueErrors, so that a caller who only wants the sentence catches one thing.
"""


class BadPrompt(ValueError):
    """A prompt that cannot be run; the message is a sentence for the person who wrote it."""


class NotAvailable(ValueError):
    """The model is not on this machine and could not be fetched."""


class DiskFull(NotAvailable):
    """The model could not be fetched because the disk has no space left; no other source helps."""


class UnknownModel(NotAvailable):
    """The name is neither a path nor a Hub id, and the catalogue has no such model."""


class HubUnreachable(NotAvailable):
    """No connection to the Hub."""


class MismatchedVocabulary(ValueError):
    """Target and drafter do not mean the same words by the same token ids."""


class Unsuitable(ValueError):
    """The files are here, but this model, or this pair, cannot be used."""


class ServerFault(ValueError):
    """A server that was to be the target is down, slow, too old, or answers what is of no use."""
