"""Metrics for Prometheus: a collector for the user's own registry, and an endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headrace.coordination.closing import Closing
from headrace.errors import FailedPreconditionError, MissingExtraError
from headrace.metrics.ledger import LEDGER
from headrace.metrics.table import METRICS, Kind, Metric

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

__all__ = ["PrometheusCollector", "Server", "serve"]


def _client() -> Any:
    try:
        import prometheus_client
        import prometheus_client.core
    except ImportError:
        raise MissingExtraError("metrics for Prometheus need: pip install 'headrace[prometheus]'") from None
    return prometheus_client


class PrometheusCollector:
    """What the pipelines of this process do, for a registry of ``prometheus_client``: ``REGISTRY.register(PrometheusCollector())``.

    Figures are asked of the pipelines when the registry is.

    Raises:
        MissingExtraError: ``prometheus_client`` is not installed.

    Example:
        >>> from prometheus_client import CollectorRegistry, generate_latest  # doctest: +SKIP
        >>> registry = CollectorRegistry()  # doctest: +SKIP
        >>> registry.register(hr.metrics.PrometheusCollector())  # doctest: +SKIP
        >>> print(generate_latest(registry).decode())  # doctest: +SKIP
    """

    def __init__(self) -> None:
        self._core = _client().core
        LEDGER.begin()

    def describe(self) -> Iterator[Family]:
        """Yields each metric without a figure: a registry refuses a second of these, and looks at no pipeline for it."""
        yield from self._families().values()

    def collect(self) -> Iterator[Family]:
        """Yields each metric that has a figure."""
        families = self._families()
        for (metric, labels), value in LEDGER.figures().items():
            families[metric].add_metric(labels, value)
        yield from (family for family in families.values() if family.samples)

    def _families(self) -> dict[Metric, Family]:
        families = {}
        for metric in METRICS:
            kind = "CounterMetricFamily" if metric.kind is Kind.COUNTER else "GaugeMetricFamily"
            family = getattr(self._core, kind)
            families[metric] = family(metric.prometheus_name, metric.text, labels=metric.labels)
        return families


class Server(Closing):
    """An endpoint that serves metrics until it is closed.

    Attributes:
        address: where it listens.
        port: on which port.
    """

    def __init__(self, server: Any, thread: Any) -> None:
        self._server, self._thread = server, thread
        self.address: str = server.server_address[0]
        self.port: int = server.server_port

    def close(self) -> None:
        """Ends it; may be called again."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def serve(port: int, address: str = "127.0.0.1") -> Server:
    """Serves the metrics of this process, for Prometheus, at ``http://ADDRESS:PORT/metrics``, in a thread of its own.

    Whoever can reach the address can read the metrics: names of operations, functions and files, and figures; nothing can be changed there. Programs that serve
    metrics of their own register a ``PrometheusCollector`` instead.

    Args:
        port: 0 takes one that is free.
        address: loopback alone, unless another is named; ``"0.0.0.0"`` is all.

    Returns:
        The endpoint; it also ends with the process.

    Raises:
        MissingExtraError: ``prometheus_client`` is not installed.
        FailedPreconditionError: the port is taken, or the address is none of this machine's.

    Example:
        >>> with hr.metrics.serve(0) as server:  # doctest: +SKIP
        ...     print(f"http://{server.address}:{server.port}/metrics")
    """
    client = _client()
    registry = client.CollectorRegistry()
    registry.register(PrometheusCollector())
    try:
        server, thread = client.start_http_server(port, addr=address, registry=registry)
    except OSError as error:
        message = f"metrics cannot be served on {address}:{port}: {error.strerror or error}"
        raise FailedPreconditionError(message) from error
    thread.name = "headrace-metrics"
    return Server(server, thread)
