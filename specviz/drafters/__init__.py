"""Drafters: the protocol in base.py, then one file per family."""

from __future__ import annotations
