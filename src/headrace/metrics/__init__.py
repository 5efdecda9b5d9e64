"""What the pipelines of this process do, as metrics for Prometheus, OpenTelemetry and TensorBoard.

From the first call of any of these on, what iterators have done is counted on when they have ended, so that totals only go up. An iterator is not
kept alive by being watched. The names and units of all metrics stand in one table, in the guide.
"""

from __future__ import annotations

from headrace.metrics.opentelemetry import instrument
from headrace.metrics.prometheus import PrometheusCollector, Server, serve
from headrace.metrics.scalars import scalars

__all__ = ["PrometheusCollector", "Server", "instrument", "scalars", "serve"]
