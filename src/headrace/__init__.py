"""headrace keeps an accelerator fed: tf.data's words on plain Python, fast, exactly resumable, and able to say why a step waited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace import dataset, errors
from headrace.arguments import AUTOTUNE
from headrace.dataset import Dataset, fingerprint
from headrace.elements.ragged import RaggedTensor
from headrace.elements.tensor_spec import DatasetSpec, TensorSpec
from headrace.labels import one_hot
from headrace.observe.onlookers import ONLOOKERS as _ONLOOKERS
from headrace.plan.node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from headrace.plan.options import Options
from headrace.plan.vectorized import vectorized

if TYPE_CHECKING:
    from headrace import audio, image, io, metrics, queue, ranks, train
    from headrace.dataset import (
        ArrowDataset,
        CsvDataset,
        FixedLengthRecordDataset,
        JsonLinesDataset,
        NumpyDataset,
        ParquetDataset,
        SqlDataset,
        TarDataset,
        TextLineDataset,
        TFRecordDataset,
    )
    from headrace.iterator import DatasetIterator
    from headrace.iterator.merging import merge_states
    from headrace.iterator.numpy_iterator import NumpyIterator
    from headrace.iterator.sharded_state import ShardedState
    from headrace.live.door import Door
    from headrace.observe.tracing import trace
    from headrace.processes.worker_info import WorkerInfo, worker_info

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "ArrowDataset",
    "CsvDataset",
    "Dataset",
    "DatasetIterator",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "JsonLinesDataset",
    "NumpyDataset",
    "NumpyIterator",
    "Options",
    "ParquetDataset",
    "RaggedTensor",
    "ShardedState",
    "SqlDataset",
    "TFRecordDataset",
    "TarDataset",
    "TensorSpec",
    "TextLineDataset",
    "WorkerInfo",
    "audio",
    "errors",
    "fingerprint",
    "image",
    "io",
    "merge_states",
    "metrics",
    "one_hot",
    "queue",
    "ranks",
    "trace",
    "train",
    "vectorized",
    "worker_info",
]

__version__ = "0.1.0.dev0"


def _door() -> Door | None:
    from headrace.live.door import door  # when a run has lasted

    return door()


_ONLOOKERS.come_by(_door)

_MODULES = ("audio", "image", "io", "metrics", "queue", "ranks", "train")

if not TYPE_CHECKING:  # a type checker would take it for a promise that there is any name

    def __getattr__(name: str) -> object:
        """Imports what is imported when it is first used: a program with a Dataset waits for nothing else."""
        import importlib

        if name in _MODULES:
            return importlib.import_module(f"headrace.{name}")
        if name == "merge_states":
            return importlib.import_module("headrace.iterator.merging").merge_states
        if name == "trace":
            return importlib.import_module("headrace.observe.tracing").trace
        if name in {"WorkerInfo", "worker_info"}:
            return getattr(importlib.import_module("headrace.processes.worker_info"), name)
        if name == "ShardedState":
            return importlib.import_module("headrace.iterator.sharded_state").ShardedState
        if name == "DatasetIterator":
            return importlib.import_module("headrace.iterator").DatasetIterator
        if name == "NumpyIterator":
            return importlib.import_module("headrace.iterator.numpy_iterator").NumpyIterator
        if name in dataset.FORMATS:
            return getattr(dataset, name)
        from headrace.near_names import FOR_THE_PACKAGE, unknown_attribute

        raise unknown_attribute(f"module {__name__!r}", name, _names, FOR_THE_PACKAGE)


def _names() -> dict[str, str]:
    """Returns the names that may have been meant, and how each is written: those of modules, of ``Dataset``, and here."""
    import importlib

    modules = {name: importlib.import_module(f"headrace.{name}").__all__ for name in _MODULES}
    return {
        **{name: f"hr.{module}.{name}" for module, names in modules.items() for name in names},
        **{name: f"hr.Dataset.{name}" for name in dir(Dataset) if not name.startswith("_")},
        **{name: name for name in __all__},
    }
