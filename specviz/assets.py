"""Where the files that ship with the app are: house models, catalogue, prompts, recorded traces.

Rule: the only place that knows it. Standard library only.
"""

from pathlib import Path
from typing import Final

ASSETS: Final = Path(__file__).resolve().parent.parent / "assets"
