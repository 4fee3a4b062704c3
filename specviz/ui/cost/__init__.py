"""The Cost tab: when drafting pays, by law, by roofline, by measurement."""

from __future__ import annotations
