"""What the evidence of each family of drafters must satisfy.

Evidence is what a drafter records about a draft (its remark), about each guess, and about the rows
that its networks read. For every family, EVIDENCE_RULES names the keys of its evidence and the
function that compares them with the text, the settings, the guesses and the drafts before. A
drafter that is in the catalogue must have an entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from specviz.trace.check.checked_round import Draft
from specviz.trace.check.evidence.blocks import BLOCK_RULES
from specviz.trace.check.evidence.copies import COPY_RULES
from specviz.trace.check.evidence.heads import HEAD_RULES
from specviz.trace.check.evidence.rules import EvidenceRules, check_keys
from specviz.trace.check.evidence.temperature import check_temperature_ratios
from specviz.trace.check.evidence.trees import TREE_RULES

EVIDENCE_RULES: Final[Mapping[str, EvidenceRules]] = {
    **BLOCK_RULES,
    **COPY_RULES,
    **HEAD_RULES,
    **TREE_RULES,
}


def check_evidence(draft: Draft) -> None:
    """Check the evidence of a round's draft, if its drafter is known.

    Raises CheckFailed if the evidence contradicts the rest of the trace.
    """
    rules = EVIDENCE_RULES.get(draft.family)
    if rules is not None:
        check_keys(draft, rules)
        rules.check(draft)
        check_temperature_ratios(draft, rules.listed)
