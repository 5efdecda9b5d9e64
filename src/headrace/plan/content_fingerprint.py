"""What a dataset's elements depend on: operations, arguments, functions, data, seeds, and the files read.

``fingerprint`` of ``plan.fingerprint`` tells whether a saved state fits a plan, and lets a job with a mended function
resume. This one tells whether elements that were kept are still those that the plan would make: anything that could
change one of them counts, and what only makes a plan faster does not. Files count with their sizes and the times of their
last change: those that a format reads, and those that a text names, wherever it stands.

Operations count by their ``op``, and other classes and functions of headrace by the name in ``known_as``: not by where in the
package they stand, what they are called there, or how they are written. The version of headrace counts for that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Final

from headrace.elements.structure import TreeDef
from headrace.errors import HeadraceError, InvalidArgumentError, NotFoundError
from headrace.frozen import frozen
from headrace.io.files import version_of
from headrace.known_as import known_name
from headrace.plan.buffering import AboveCache, Cache, Prefetch, WithOptions, options_of
from headrace.plan.contents import Line, ValueDigest
from headrace.plan.contents.installed import HEADRACE, version_of_package
from headrace.plan.node import HasPlan, Node
from headrace.plan.options import Options
from headrace.plan.randomness import Randomness

__all__ = ["Contents", "content_fingerprint", "contents_of"]

_SILENT: Final = (Cache, Prefetch, WithOptions)


@frozen
class Contents:
    """What the elements of a plan depend on.

    Attributes:
        fingerprint: 32 hexadecimal digits.
        lines: what they are the digest of, a line for each value, the whole before its parts.
    """

    fingerprint: str
    lines: tuple[Line, ...]

    def explain(self) -> str:
        """Returns the fingerprint, and what went into it."""
        return "\n".join([self.fingerprint, *map(str, self.lines)])

    def difference(self, later: Contents) -> str:
        """Returns what is other in later contents: the innermost value that differs, or is only in one of them."""
        theirs = dict(_paths(later.lines))
        mine = dict(_paths(self.lines))
        changed = [path for path, digest in mine.items() if theirs.get(path) not in (None, digest)]
        only_in_one = [path for path in (*theirs, *mine) if (path in theirs) != (path in mine)]
        named = [path for path in only_in_one if path[:-1] in mine and path[:-1] in theirs] or changed
        depth, innermost = max(((len(path), path) for path in named), default=(0, ()))
        return ": ".join(innermost) if depth else "the operations"


def _paths(lines: tuple[Line, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    path: list[str] = []
    for line in lines:
        path[line.depth :] = [line.label]
        yield tuple(path), line.digest


def content_fingerprint(plan: Node) -> str:
    """Returns the fingerprint of a plan's elements; raises what ``contents_of`` does."""
    return contents_of(plan).fingerprint


def contents_of(plan: Node, **besides: Any) -> Contents:
    """Returns what a plan's elements depend on, and whatever else is given by name.

    Raises:
        InvalidArgumentError: something that they depend on has no fingerprint; the operation and the value are named.
        NotFoundError: a file that is read is not there.
    """
    digest = ValueDigest(
        {
            Randomness: _seed,
            TreeDef: str,
            HasPlan: lambda dataset: content_fingerprint(dataset.__headrace_plan__()),
            Options: str,
        }
    )
    digest.word(version_of_package(HEADRACE))
    seed, above = options_of(plan).seed, AboveCache.of(plan)
    if seed is not None and (above.unseeded or above.opens_plans):
        digest.named("Options(seed=)", seed)
    for name, value in besides.items():
        digest.named(name, value)
    for node in _nodes(plan):
        try:
            with digest.line(node.label, counts=False):
                _add(digest, node)
        except RecursionError:
            message = f"{node.label}: what it uses is nested too deeply to have a fingerprint: pass key='…'"
            raise InvalidArgumentError(message) from None
    return Contents(digest.hexdigest(), tuple(digest.lines))


def _seed(randomness: Randomness) -> Any:
    """Returns the seed; without one every dataset is in another order, and which of them was kept does not matter."""
    return ("seed", randomness.seed)


def _nodes(plan: Node) -> Iterator[Node]:
    """Yields the nodes that say something, each before those that it reads."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, _SILENT):
            yield node
        waiting += reversed(node.inputs)


def _add(digest: ValueDigest, node: Node) -> None:
    digest.word(known_name(type(node)), len(node.inputs))
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if field.name in ("name", "operation") or field.name in node.tuning or _is_plan(value):
            continue
        if field.name == "paths":
            with digest.line("paths"):
                _add_paths(digest, node, value)
        else:
            digest.named(field.name, value)


def _is_plan(value: Any) -> bool:
    """Returns whether a field holds what the node reads, which is taken in as its inputs."""
    return isinstance(value, Node) or (
        isinstance(value, tuple) and bool(value) and all(isinstance(v, Node) for v in value)
    )


def _add_paths(digest: ValueDigest, node: Node, paths: Any) -> None:
    """Takes in each file with its size and the time of its last change."""
    for path in paths:
        try:
            size, written = version_of(path)
        except NotFoundError:
            raise
        except HeadraceError as error:
            message = f"{node.label}: {path} has no size and time to go by ({error.reason}): pass key='…'"
            raise InvalidArgumentError(message) from error
        with digest.line(f"file {path}", f"{size:,} bytes, {written}"):
            digest.word(size, written)
