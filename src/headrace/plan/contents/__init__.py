"""What values, functions, classes and objects come down to: a digest of all that decides what they do, or an error that names what cannot be seen."""

from __future__ import annotations

from headrace.plan.contents import arrays, classes, functions, instances, values
from headrace.plan.contents.digest import Line, ValueDigest

__all__ = ["Line", "ValueDigest"]

_RULES = (arrays, classes, functions, instances, values)  # each says what some kinds of values are
