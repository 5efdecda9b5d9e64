"""Metrics for OpenTelemetry: observable instruments, on the user's own meter provider."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.errors import MissingExtraError
from headrace.metrics.ledger import LEDGER
from headrace.metrics.table import METRICS, Figures, Kind, Metric

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider, Observation

__all__ = ["instrument"]


def instrument(meter_provider: MeterProvider | None = None) -> None:
    """Makes an observable instrument for each metric, which asks the pipelines of this process whenever its reader collects.

    Call it once for a provider: OpenTelemetry has no way to take instruments back.

    Args:
        meter_provider: whose meter has the instruments; the global one when None.

    Raises:
        MissingExtraError: ``opentelemetry-api`` is not installed.

    Example:
        >>> from opentelemetry.sdk.metrics import MeterProvider  # doctest: +SKIP
        >>> hr.metrics.instrument(MeterProvider(metric_readers=[reader]))  # doctest: +SKIP
    """
    try:
        from opentelemetry import metrics as api
    except ImportError:
        raise MissingExtraError("metrics for OpenTelemetry need: pip install 'headrace[opentelemetry]'") from None
    LEDGER.begin()
    meter = (meter_provider or api.get_meter_provider()).get_meter("headrace")
    collection = _Collection()
    for metric in METRICS:
        is_counter = metric.kind is Kind.COUNTER
        made = meter.create_observable_counter if is_counter else meter.create_observable_gauge
        observe = functools.partial(_observed, collection, metric, api.Observation)
        made(metric.name, callbacks=[observe], unit=metric.unit, description=metric.text)


class _Collection:
    """What one collection tells all instruments: it begins when one asks again that has been told."""

    def __init__(self) -> None:
        self._figures: Figures = {}
        self._told: set[Metric] = set(METRICS)

    def figures_for(self, metric: Metric) -> Figures:
        if metric in self._told:
            self._figures, self._told = LEDGER.figures(), set()
        self._told.add(metric)
        return self._figures


def _observed(collection: _Collection, metric: Metric, observation: Any, _: Any) -> Iterable[Observation]:
    """Returns the figures of a metric."""
    told = collection.figures_for(metric).items()
    return [
        observation(value, dict(zip(metric.labels, labels, strict=True)))
        for (other, labels), value in told
        if other is metric
    ]
