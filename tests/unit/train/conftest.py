from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.coordination import scope


@pytest.fixture(autouse=True)
def _scope_of_its_own() -> Iterator[None]:
    """Keeps the runners of one test apart from those of all others."""
    with scope():
        yield
