"""What is public, and on which page of the reference each thing stands.

The pages follow from the package itself, so a new operation has its page as soon as it exists. Nothing here knows of
the program that builds the site.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import types
from collections.abc import Iterator
from typing import Any

import headrace as hr

__all__ = ["Page", "dataset_members", "examples_of", "first_line", "pages"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of the reference.

    Attributes:
        path: where it lies in the site, ending in ``.md``.
        title: its name in the navigation.
        section: the headings under which the navigation shows it.
        names: what it explains, as a user writes it: ``hr.Dataset.map``.
        targets: the same things as the place of their definition: ``headrace.dataset.elementwise.Elementwise.map``.
        summary: a sentence above the things that it explains, for pages of several.
    """

    path: str
    title: str
    section: tuple[str, ...]
    names: tuple[str, ...]
    targets: tuple[str, ...]
    summary: str = ""


# The parts of Dataset, as headings. Families of operations have their own names, which are those of the modules on every floor.
_FAMILIES = {
    "Consuming": "Elements and plan",
    "Profiling": "Elements and plan",
    "Feeding": "To a framework",
}
# What is not exported, because nobody makes one, and is explained beside what gives it.
_GIVEN_BY = {
    "profile": (
        "headrace.profiling.profile.Profile",
        "headrace.profiling.profile.Verdict",
        "headrace.profiling.profile.Advice",
    ),
    "DatasetIterator": (
        "headrace.observe.stats.IteratorStats",
        "headrace.observe.stats.StageStats",
        "headrace.observe.failures.StageFailures",
        "headrace.observe.failures.FailedElement",
        "headrace.observe.decisions.Decision",
        "headrace.observe.stalls.Stall",
        "headrace.observe.stats.Drawn",
        "headrace.observe.steps.StepStats",
        "headrace.durations.Times",
    ),
}
# What stands above the names of a module.
_INTRODUCTIONS = {
    "audio": "Sound, as `tf.audio`.",
    # Its own words, which draw the tree.
    "errors": "\n\n".join((inspect.getdoc(hr.errors) or "").split("\n\n")[:2]),
    "image": "Pictures, as `tf.image`.",
    "io": "Reading and decoding, as `tf.io`.",
    "metrics": "What the pipelines of this process do, for Prometheus, OpenTelemetry and TensorBoard; [their names](../guide/metrics.md).",
    "queue": "TensorFlow's queues, eager: every call that waits takes a `timeout`.",
    "testing": "What your own pipelines are tested with.",
    "train": "The input pipelines of `tf.train`: coordinators, runners, producers, readers and batches, without sessions.",
}


def dataset_members() -> dict[str, Any]:
    """What is public on a dataset, by name."""
    return {name: inspect.getattr_static(hr.Dataset, name) for name in dir(hr.Dataset) if not name.startswith("_")}


def first_line(documented: Any) -> str:
    """The sentence that says what a thing is."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]


def examples_of(documented: Any) -> bool:
    """Whether its docstring shows how it is used."""
    return ">>> " in (inspect.getdoc(documented) or "")


def pages() -> list[Page]:
    """All pages, in the order of the navigation."""
    return [*_operation_pages(), *_file_pages(), *_object_pages(), *_module_pages()]


def _owner(name: str) -> type:
    return next(kind for kind in hr.Dataset.__mro__ if name in vars(kind))


def _operation_pages() -> Iterator[Page]:
    """One page for each operation; those of one family stand together."""
    for family in hr.Dataset.__mro__:
        for name in sorted(name for name in dataset_members() if _owner(name) is family):
            yield Page(
                path=f"reference/operations/{name}.md",
                title=name,
                section=("Dataset", _family_title(family)),
                names=(f"hr.Dataset.{name}",),
                targets=(f"{family.__module__}.{family.__qualname__}.{name}", *_GIVEN_BY.get(name, ())),
            )


def _family_title(family: type) -> str:
    return _FAMILIES.get(family.__name__, family.__name__)


def _file_pages() -> Iterator[Page]:
    """One page for each kind of file."""
    for name in hr.__all__:
        if name.endswith("Dataset") and name != "Dataset":
            yield Page(
                path=f"reference/files/{name}.md",
                title=name,
                section=("Datasets of files",),
                names=(f"hr.{name}",),
                targets=(_place(getattr(hr, name)),),
            )


def _object_pages() -> Iterator[Page]:
    """Pages of what is exported beside datasets."""
    yield Page(
        path="reference/Dataset.md",
        title="Dataset",
        section=("Types",),
        names=("hr.Dataset",),
        targets=(_place(hr.Dataset),),
    )
    rest = []
    for name in hr.__all__:
        value = getattr(hr, name)
        if name == "Dataset" or name.endswith("Dataset") or isinstance(value, types.ModuleType):
            continue
        if isinstance(value, type) or callable(value):
            yield Page(
                path=f"reference/{name}.md",
                title=name,
                section=("Types",),
                names=(f"hr.{name}",),
                targets=(_place(value), *_GIVEN_BY.get(name, ())),
            )
        else:
            rest.append(name)
    yield Page(
        path="reference/constants.md",
        title="Constants",
        section=("Types",),
        names=tuple(f"hr.{name}" for name in rest),
        targets=(),
        summary="Where a number is expected and none is known.",
    )


def _place(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _modules() -> list[types.ModuleType]:
    exported = [getattr(hr, name) for name in hr.__all__ if isinstance(getattr(hr, name), types.ModuleType)]
    return [*exported, *map(importlib.import_module, ("headrace.testing", "headrace.testing.faults"))]


def _module_pages() -> Iterator[Page]:
    """One page for each module of the public surface."""
    for module in _modules():
        short = module.__name__.removeprefix("headrace.")
        documented = [getattr(module, name) for name in module.__all__]
        yield Page(
            path=f"reference/modules/{short}.md",
            title=f"hr.{short}" if hasattr(hr, short) and short in hr.__all__ else module.__name__,
            section=("Modules",),
            names=tuple(f"hr.{short}.{name}" for name in module.__all__),
            targets=tuple(_place(value) for value in documented if isinstance(value, type) or callable(value)),
            summary=_INTRODUCTIONS.get(short, first_line(module)),
        )
