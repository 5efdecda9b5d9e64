"""The loop that takes what a generator yields apart, leaf by leaf, where all of it is stacked by who reads it.

    for x in islice(elements, chunk):
        if type(x) is not tuple:
            return SURPRISED, x
        try:
            y0, y1 = x
        except ValueError:
            return SURPRISED, x
        if not (type(y0) is ndarray and y0.dtype is k0 and y0.ndim == 1 and len(y0) == 8 and type(y1) is k1):
            return SURPRISED, x
        c0.append(y0.tobytes())                      # the generator may fill it again
        c1.append(y1)

So it is for small arrays of one shape, in tuples and dicts that hold nothing deeper.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from headrace.elements.structure import Element, TreeDef, flatten
from headrace.physical.loops.compiled import compiled
from headrace.physical.loops.taken_apart import SCALARS, STACKED_SCALARS, Arrays, TakenApart, leaf_of
from headrace.physical.loops.taking import Constants

if TYPE_CHECKING:
    from headrace.semantics.signed import Signed

__all__ = ["ENDED", "SURPRISED", "ColumnTaking"]

# Why a loop ended: it has taken as many as it should, or its time has come; the generator has ended; an element was of another form.
DONE: Final = 0
ENDED: Final = 1
SURPRISED: Final = 2


class ColumnTaking:
    """Takes elements of one form apart.

    Args:
        treedef: their structure.
        keys: of their parts, in the order of its leaves; None of a leaf.
        leaves: what these are.
        is_signed: whether a signature says what elements are.

    Attributes:
        needs_stacking: whether elements come back as others where they are not stacked: Python's numbers for NumPy's.
    """

    def __init__(
        self, treedef: TreeDef, keys: tuple[Any, ...] | None, leaves: tuple[type | Arrays, ...], *, is_signed: bool
    ) -> None:
        self.needs_stacking = not is_signed and any(
            not isinstance(leaf, Arrays) and leaf not in SCALARS for leaf in leaves
        )
        self._treedef = treedef
        self._leaves = leaves
        self._run, self._constants = _loop_of(treedef.type, keys, leaves)

    @classmethod
    def of(cls, element: Element, signed: Signed | None) -> ColumnTaking | None:
        """Returns what takes elements apart that are as this one; None where that cannot be, or does not pay."""
        keys: tuple[Any, ...] | None = None
        if type(element) is tuple:
            keys = tuple(range(len(element)))
        elif type(element) is dict:
            if signed is None or not all(type(key) is str for key in element):
                return None  # the first element says in which order the keys of a batch are
            keys = tuple(sorted(element))
        parts = [element] if keys is None else [element[key] for key in keys]
        leaves = tuple([leaf_of(part, STACKED_SCALARS) for part in parts])
        treedef = flatten(element)[1] if signed is None else signed.treedef
        if not leaves or None in leaves or treedef != flatten(element)[1]:
            return None
        if signed is not None and not all(
            signed.fits_arrays(number, leaf.dtype, leaf.shape)
            for number, leaf in enumerate(leaves)
            if isinstance(leaf, Arrays)
        ):
            return None
        return cls(treedef, keys, leaves, is_signed=signed is not None)  # type: ignore[arg-type]  # None is not among them

    def begin(self) -> TakenApart:
        """Returns where elements are put that are taken next."""
        return TakenApart(self._treedef, self._leaves)

    def take(
        self,
        elements: Iterator[Any],
        taken: TakenApart,
        limit: int,
        rows_a_look: int,
        now_s: Callable[[], float],
        until_s: float,
    ) -> tuple[int, Any]:
        """Takes elements, one at least, up to that many, or until the time has come; returns why it ended, and the element that surprised.

        Raises:
            Exception: whatever the iterator raises.
        """
        while True:
            left = limit - len(taken)
            chunk = min(rows_a_look, left)
            why, value = self._run(elements, taken.columns, chunk, left // chunk, now_s, until_s, self._constants)
            if why != DONE or len(taken) >= limit or now_s() > until_s:
                return why, value


@functools.lru_cache(maxsize=128)
def _loop_of(
    kind: type | None, keys: tuple[Any, ...] | None, leaves: tuple[type | Arrays, ...]
) -> tuple[Callable[..., tuple[int, Any]], tuple[Any, ...]]:
    """Returns the loop, and what its text has names for."""
    names = [f"y{number}" for number in range(len(leaves))]
    constants = Constants()
    checks, lines = _of_each_leaf(names, leaves, constants.name)
    text = [
        "def loop(elements, columns, chunk, chunks, clock, until, constants):",
        f" {''.join(f'k{number}, ' for number in range(len(constants.values)))}= constants",
        f" {''.join(f'c{number}, ' for number in range(len(leaves)))}= columns",
        " last = columns[-1]",
        " wanted = len(last)",
        " for _ in repeat(None, chunks):",
        "  wanted += chunk",
        "  for x in islice(elements, chunk):",
        *(f"   {line}" for line in _parted(kind, keys, names)),
        f"   if not ({' and '.join(checks)}):",
        f"    return {SURPRISED}, x",
        *(f"   {line}" for line in lines),
        "  if len(last) < wanted:",
        f"   return {ENDED}, None",
        "  if clock() > until:",
        "   break",
        f" return {DONE}, None",
        "",
    ]
    return compiled("\n".join(text)), tuple(constants.values)


def _parted(kind: type | None, keys: tuple[Any, ...] | None, names: list[str]) -> list[str]:
    """Returns the lines that give the leaves of an element these names; to be ready for a tuple of another length costs nothing."""
    surprised = f" return {SURPRISED}, x"
    if keys is None:
        return [f"{names[0]} = x"]
    if kind is dict:
        is_like = " and ".join(["type(x) is dict", f"len(x) == {len(keys)}", *(f"{key!r} in x" for key in keys)])
        return [
            f"if not ({is_like}):",
            surprised,
            *(f"{name} = x[{key!r}]" for name, key in zip(names, keys, strict=True)),
        ]
    taken = f" {''.join(f'{name}, ' for name in names)}= x"
    return ["if type(x) is not tuple:", surprised, "try:", taken, "except ValueError:", surprised]


def _of_each_leaf(
    names: list[str], leaves: tuple[type | Arrays, ...], constant: Callable[[Any], str]
) -> tuple[list[str], list[str]]:
    """Returns what is asked of the leaves of an element, and the lines that put them into their columns."""
    checks: list[str] = []
    lines: list[str] = []
    for number, (name, leaf) in enumerate(zip(names, leaves, strict=True)):
        if isinstance(leaf, Arrays):
            checks += leaf.conditions(name, constant)
        else:
            checks.append(f"type({name}) is {constant(leaf)}")
        lines.append(f"c{number}.append({name}{'.tobytes()' if isinstance(leaf, Arrays) else ''})")
    return checks, lines
