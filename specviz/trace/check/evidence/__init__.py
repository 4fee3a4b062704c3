"""What the evidence of each family of drafters must satisfy.

Evidence is what a drafter records about a draft (its remark), about each guess, and about the rows
that its networks read. For every family, EVIDENCE_RULES names the keys of its evidence and the
function that compares them with the text, the settings, the guesses and the drafts before. A
drafter that is in the catalogue must have an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from specviz.settings.settings import Settings
from specviz.trace.check.evidence.blocks import BLOCK_RULES
from specviz.trace.check.evidence.copies import COPY_RULES
from specviz.trace.check.evidence.draft import Draft, EvidenceRules, RunMemory, check_keys
from specviz.trace.check.evidence.heads import HEAD_RULES
from specviz.trace.check.evidence.temperature import check_temperature_ratios
from specviz.trace.check.evidence.trees import TREE_RULES
from specviz.trace.check.families import DraftLimits
from specviz.trace.events import Header, Round
from specviz.trace.metrics import accepted_path

EVIDENCE_RULES: Final[Mapping[str, EvidenceRules]] = {
    **BLOCK_RULES,
    **COPY_RULES,
    **HEAD_RULES,
    **TREE_RULES,
}


class EvidenceReplay:
    """Compares the evidence of one run's drafts, round by round."""

    def __init__(self, header: Header, settings: Settings) -> None:
        self.header = header
        self.settings = settings
        self._rules = EVIDENCE_RULES.get(header.drafter.family)
        self._before: Draft | None = None
        self._accepted: Sequence[int] = ()
        self._memory = RunMemory()

    def check(self, played: Round, limits: DraftLimits | None) -> None:
        """Check the evidence of a round's draft, with its limits.

        Raises CheckFailed if the evidence contradicts the rest of the trace.
        """
        if self._rules is None or limits is None or played.proposed is None:
            return
        draft = Draft(
            played.proposed,
            limits.text,
            len(limits.text),
            limits.depth,
            limits.eos,
            self.settings,
            self.header,
            self._before,
            self._accepted,
            self._memory,
        )
        check_keys(draft, self._rules)
        self._rules.check(draft)
        check_temperature_ratios(draft, played, self._rules.listed)
        self._before, self._accepted = draft, accepted_path(played)
