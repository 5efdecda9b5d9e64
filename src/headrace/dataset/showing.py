"""A dataset as it is shown: what is known of it without running anything, in a few lines.

What always holds: no function of the user's is called, nothing is read, and nothing of it raises. What only a run could tell
is said to be unknown, what an operation refuses is told in its own words, and of a long plan or structure both ends are shown.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any, Final

from headrace.elements.structure import flatten, paths_of
from headrace.elements.tensor_spec import TensorSpec
from headrace.observe.tables import Table, counted, cut, printable, screen_width
from headrace.plan.explain import abridged_plan
from headrace.plan.node import INFINITE_CARDINALITY, Node

__all__ = ["html_of", "text_of"]

_MOST_LINES: Final = 9  # of the plan, and of the structure: together less than a small terminal has
_MOST_LINES_OF_HTML: Final = 60  # a notebook scrolls


def text_of(plan: Node) -> str:
    """Returns the dataset of a plan as its ``repr``."""
    width = screen_width()
    rows, spec = _element_spec(plan)
    text = f"  element_spec: {spec}"
    if len(rows) > 1 and len(text) > width:
        shown = [f"{path}{dtype and ': '}{dtype} {shape}".rstrip() for path, dtype, shape in _ends(rows, _MOST_LINES)]
        lines = [f"  element_spec of {len(rows):,} components:", *(f"    {line}" for line in shown)]
    else:
        lines = textwrap.wrap(text, width, subsequent_indent="    ", drop_whitespace=True)
    lines += ["  plan:", *(f"    {line}" for line in _plan_lines(plan, _MOST_LINES))]
    return "\n".join([f"<Dataset of {_count(plan)}", *(cut(line, width - 1) for line in lines)]) + ">"


def html_of(plan: Node) -> str:
    """Returns the dataset of a plan for a notebook."""
    import html

    rows, spec = _element_spec(plan)
    table = Table(["component", "dtype", "shape"], _ends(rows, _MOST_LINES_OF_HTML)).html() if rows else ""
    told = "" if rows else f"<p>element_spec: {html.escape(spec)}</p>"
    lines = "\n".join(html.escape(line) for line in _plan_lines(plan, _MOST_LINES_OF_HTML))
    return f"<div><strong>Dataset</strong> of {html.escape(_count(plan))}{told}{table}<pre>{lines}</pre></div>"


def _count(plan: Node) -> str:
    """Says in words how many elements it has."""
    count, refused = _asked(plan.cardinality)
    if refused is not None or count < 0:
        return "infinite cardinality" if count == INFINITE_CARDINALITY else "unknown cardinality"
    return counted(count, "element")


def _element_spec(plan: Node) -> tuple[list[tuple[str, str, str]], str]:
    """Returns the name, dtype and shape of each component, where there are any; and the whole as text, or why it is not known."""
    spec, refused = _asked(plan.spec)
    if refused is not None:
        return [], refused
    if spec is None:
        return [], "not known before it runs; ds.element_spec runs it for one element"
    leaves, treedef = flatten(spec)
    rows = [_row(path, leaf) for path, leaf in zip(paths_of(treedef), leaves, strict=True)]
    return rows, str(spec)


def _row(path: str, leaf: TensorSpec) -> tuple[str, str, str]:
    if type(leaf) is not TensorSpec:  # a dataset
        return path or "element", str(leaf), ""
    dtype = leaf.dtype.__name__ if isinstance(leaf.dtype, type) else leaf.dtype.name
    return path or "element", dtype, "of any rank" if leaf.shape is None else str(leaf.shape)


def _asked(ask: Callable[[], Any]) -> tuple[Any, str | None]:
    """Returns what a plan says of itself, or why it says nothing."""
    try:
        return ask(), None
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a dataset, it can be shown
        return None, printable(f"{type(error).__name__}: {' '.join(str(error).split())}")


def _plan_lines(plan: Node, lines: int) -> list[str]:
    try:
        return abridged_plan(plan, lines)
    except Exception as error:  # noqa: BLE001 - as above; parameters may hold objects of the user's
        return [f"{plan.op}, which cannot be shown: {type(error).__name__}"]


def _ends(rows: list[tuple[str, str, str]], lines: int) -> list[tuple[str, str, str]]:
    """Returns the rows, or both ends of more than ``lines`` of them."""
    if len(rows) <= lines:
        return rows
    tail = (lines - 1) // 2
    head = lines - 1 - tail
    return [*rows[:head], (f"… {len(rows) - lines + 1:,} more", "", ""), *rows[-tail:]]
