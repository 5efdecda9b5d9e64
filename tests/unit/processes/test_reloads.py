"""A number that changes with the modules that are there, and with nothing else."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.processes.reloads import Reloads

NAMES = ["reloads_own", "reloads_package", "reloads_package.inside", "reloads_library"]


@pytest.fixture(scope="module", autouse=True)
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Modules where someone works, and one where packages are installed."""
    own = tmp_path_factory.mktemp("own")
    library = own / "site-packages"
    (own / "reloads_package").mkdir()
    library.mkdir()
    for path in ("reloads_own", "reloads_package/__init__", "reloads_package/inside", "site-packages/reloads_library"):
        Path(own, f"{path}.py").write_text("def f(x):\n    return x\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(own)
        patch.syspath_prepend(library)
        yield
        for name in NAMES:
            sys.modules.pop(name, None)


def reload(name: str) -> bool:
    importlib.reload(importlib.import_module(name))
    return True


def import_again(name: str) -> bool:
    sys.modules.pop(name, None)
    importlib.import_module(name)
    return True


def replace(name: str) -> bool:
    spec = importlib.util.spec_from_file_location(name, sys.modules[name].__file__)
    assert spec is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    return True


def remove_and_bring_back(name: str) -> bool:
    sys.modules[name] = sys.modules.pop(name)
    return False


def import_another(name: str) -> bool:
    sys.modules[f"{name}_{len(sys.modules)}"] = ModuleType("another")
    return False


def nothing(name: str) -> bool:
    return False


CHANGES: list[Callable[[str], bool]] = [reload, import_again, replace, remove_and_bring_back, import_another, nothing]


@given(
    st.lists(st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from(NAMES)), max_size=3), max_size=6),
    st.booleans(),
)
def test_it_changes_with_what_is_loaded_anew_and_only_then(
    epochs: list[list[tuple[Callable[[str], bool], str]]], are_held: bool
) -> None:
    before = {*sys.modules}
    held: list[Any] = []
    for name in NAMES:
        importlib.import_module(name)
    reloads = Reloads()
    try:
        seen = [reloads.number()]
        for changes in epochs:
            # Who holds what a module was loaded by keeps the system from telling that it is gone: where someone works, it is asked.
            held += [sys.modules[name].__spec__ for name in NAMES[:3] if are_held]
            has_another = True in [change(name) for change, name in changes]
            number = reloads.number()
            assert (number in seen) == (not has_another)
            assert number == reloads.number()
            seen.append(number)
    finally:
        for name in {*sys.modules} - before - {*NAMES}:
            del sys.modules[name]


def test_a_module_that_went_and_comes_again_is_another() -> None:
    reloads = Reloads()
    for name in NAMES:
        importlib.import_module(name)
        first = reloads.number()
        del sys.modules[name]
        assert reloads.number() == first
        importlib.import_module(name)
        assert reloads.number() != first


def test_a_module_that_loads_itself_when_it_is_asked_is_not_asked() -> None:
    class Lazy(ModuleType):
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(name)

    before = Reloads()
    first = before.number()
    sys.modules["reloads_lazy"] = Lazy("reloads_lazy")
    sys.modules["reloads_none"] = None  # type: ignore[assignment]  # as one that must not be imported is
    try:
        assert before.number() == first
    finally:
        del sys.modules["reloads_lazy"], sys.modules["reloads_none"]
