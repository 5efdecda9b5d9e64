"""Docstring examples that need a framework are skipped where it is not installed; `.ci/run` has them all."""

from __future__ import annotations

import doctest
import importlib.util
import re

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips the examples that could not begin."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.dtest is not None:
            code = "".join(example.source for example in item.dtest.examples if doctest.SKIP not in example.options)
            needed = re.findall(r"(?:^import |^from |\.to_)(torch|jax|tensorflow)\b", code, re.MULTILINE)
            missing = [name for name in needed if importlib.util.find_spec(name) is None]
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"needs {missing[0]}: make doctest EXTRAS={missing[0]}"))
