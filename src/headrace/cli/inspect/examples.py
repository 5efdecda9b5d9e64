"""What the features of ``tf.train.Example`` records are."""

from __future__ import annotations

from typing import Any

from headrace.dataset import Dataset
from headrace.errors import HeadraceError

__all__ = ["features_of"]


def features_of(records: Dataset) -> dict[str, str] | None:
    """Returns the features of the first record: what each is and how many values it has; None where it is no Example."""
    from headrace.io.examples.message import example_class

    try:
        first = next(iter(records.take(1)), None)
        example: Any = example_class()()
        if not first or not example.ParseFromString(first):
            return None
        features = example.features.feature
        kinds = {name: features[name].WhichOneof("kind") for name in sorted(features)}
    except (HeadraceError, ValueError, AttributeError):
        return None
    except Exception as error:
        if type(error).__name__ != "DecodeError":
            raise
        return None  # protobuf's own, whose module is imported only with it
    if not kinds:
        return None
    return {name: _described(features[name], kind) for name, kind in kinds.items()}


def _described(feature: Any, kind: str | None) -> str:
    if kind is None:
        return "empty"
    count = len(getattr(feature, kind).value)
    return f"{kind.removesuffix('_list')}, {count} value{'s' if count != 1 else ''}"
