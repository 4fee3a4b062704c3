"""How many rounds one request may run."""

from __future__ import annotations

from typing import Final

THROWS: Final = (1_000, 20_000, 100_000)
