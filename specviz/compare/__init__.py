"""Several lanes and plain decoding on one prompt: run one after the other, compared by numbers."""

from __future__ import annotations
