"""Metrics as named numbers, for TensorBoard and for whatever else takes a name and a number."""

from __future__ import annotations

import re

from headrace.metrics.ledger import LEDGER
from headrace.metrics.table import Kind

__all__ = ["scalars"]


def scalars() -> dict[str, float]:
    """Returns the gauges of all open pipelines, by names that TensorBoard takes: those of the pipeline, the metric and the stage.

    Totals are left out, as a curve of one only goes up.

    Example:
        >>> import headrace as hr
        >>> batches = iter(hr.Dataset.range(100).batch(10))
        >>> first = next(batches)
        >>> hr.metrics.scalars()["headrace/range-batch/stage/buffered/elements/batch"]
        0
        >>> batches.close()
    """
    LEDGER.begin()
    return {
        "/".join(
            [
                "headrace",
                _cleaned(labels[0]),
                metric.name.removeprefix("headrace.").replace(".", "/"),
                *map(_cleaned, labels[2:]),
            ]
        ): value
        for (metric, labels), value in LEDGER.figures().items()
        if metric.kind is not Kind.COUNTER
    }


def _cleaned(label: str) -> str:
    """Returns a label without what TensorBoard would replace, and what it takes for a part of the path."""
    return re.sub(r"[^\w.]+", "-", label).strip("-")
