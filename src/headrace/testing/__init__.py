"""What users test their own pipelines with; faults on purpose are in ``headrace.testing.faults``."""

from __future__ import annotations

from headrace.testing.restoring import check_every_restore_point

__all__ = ["check_every_restore_point"]
