"""What leaves the process: Prometheus' text, OpenTelemetry's instruments, TensorBoard's scalars."""

from __future__ import annotations

import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

import headrace as hr
from headrace.errors import FailedPreconditionError, MissingExtraError
from headrace.metrics.ledger import LEDGER
from headrace.metrics.table import METRICS, Kind

DS = hr.Dataset.range(100).map(lambda x: x).batch(10)


@pytest.fixture
def begun() -> Iterator[hr.DatasetIterator]:
    """An iterator that has given three batches of ten."""
    with iter(DS) as iterator:
        for _ in range(3):
            next(iterator)
        yield iterator


def served(server: hr.metrics.Server) -> str:
    with urllib.request.urlopen(f"http://{server.address}:{server.port}/metrics", timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        text: str = answer.read().decode()
    return text


def test_prometheus_reads_what_pipelines_do(begun: hr.DatasetIterator) -> None:
    parser = pytest.importorskip("prometheus_client.parser")
    with hr.metrics.serve(0) as server:
        assert server.address == "127.0.0.1"
        before = {family.name: family for family in parser.text_string_to_metric_families(served(server))}
        assert before["headrace_stage_elements"].type == "counter"
        assert before["headrace_stage_buffered_size_bytes"].type == "gauge"
        next(begun)
        after = {family.name: family for family in parser.text_string_to_metric_families(served(server))}
    known = {metric.prometheus_name for metric in METRICS}
    assert set(after) <= known

    def batches(families: Any) -> float:
        samples = families["headrace_elements"].samples
        return sum(float(sample.value) for sample in samples if sample.name == "headrace_elements_total")

    assert batches(after) - batches(before) == 1


def test_a_registry_of_the_users_own_takes_the_collector(begun: hr.DatasetIterator) -> None:
    client = pytest.importorskip("prometheus_client")
    registry = client.CollectorRegistry()
    registry.register(hr.metrics.PrometheusCollector())
    told = registry.get_sample_value("headrace_iterators", {"pipeline": "range → batch", "rank": "0"})
    assert told >= 1
    openmetrics = pytest.importorskip("prometheus_client.openmetrics.exposition").generate_latest(registry).decode()
    assert openmetrics.endswith("# EOF\n")
    assert "# TYPE headrace_elements counter" in openmetrics


def test_a_registry_takes_one_collector_and_looks_at_no_pipeline_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("prometheus_client")
    monkeypatch.setattr(LEDGER, "figures", lambda: pytest.fail("looked at"))
    registry = client.CollectorRegistry()
    registry.register(hr.metrics.PrometheusCollector())
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        registry.register(hr.metrics.PrometheusCollector())


def test_a_port_that_is_taken_is_told() -> None:
    pytest.importorskip("prometheus_client")
    with hr.metrics.serve(0) as server, pytest.raises(FailedPreconditionError, match="metrics cannot be served on 127"):
        hr.metrics.serve(server.port)


def collected(reader: Any) -> dict[str, Any]:
    data = reader.get_metrics_data()
    return {
        metric.name: metric
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_opentelemetry_observes_what_pipelines_do(begun: hr.DatasetIterator) -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.metrics")
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    reader = export.InMemoryMetricReader()
    provider = sdk.MeterProvider(metric_readers=[reader])
    hr.metrics.instrument(provider)

    def batches(told: dict[str, Any]) -> float:
        return float(sum(point.value for point in told["headrace.elements"].data.data_points))

    before = collected(reader)
    next(begun)
    after = collected(reader)
    assert batches(after) - batches(before) == 1
    kinds = {metric.name: metric for metric in METRICS}
    for name, metric in after.items():
        assert metric.unit == kinds[name].unit
        is_sum = getattr(metric.data, "is_monotonic", False)
        assert is_sum == (kinds[name].kind is Kind.COUNTER)
    provider.shutdown()


def test_scalars_are_gauges_under_names_that_tensorboard_takes(begun: hr.DatasetIterator) -> None:
    scalars = hr.metrics.scalars()
    assert scalars["headrace/range-batch/iterators"] >= 1
    assert 0 <= scalars["headrace/range-batch/step/wait"] <= 1
    assert not any("elements/total" in name or "busy" in name for name in scalars)
    writer = pytest.importorskip("tensorboardX.summary")
    assert [name for name in scalars if writer._clean_tag(name) != name] == []


@pytest.mark.parametrize(
    ("package", "call", "words"),
    [
        ("prometheus_client", lambda: hr.metrics.serve(0), r"headrace\[prometheus\]"),
        ("prometheus_client", hr.metrics.PrometheusCollector, r"headrace\[prometheus\]"),
        ("opentelemetry", hr.metrics.instrument, r"headrace\[opentelemetry\]"),
    ],
)
def test_an_extra_that_is_missing_is_an_error_with_the_install_line(
    monkeypatch: pytest.MonkeyPatch, package: str, call: Any, words: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=words):
        call()
