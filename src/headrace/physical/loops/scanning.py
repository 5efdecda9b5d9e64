"""The loop of a scan whose states and outputs are of one form that nobody can change: a few comparisons, and no other look at them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.elements.structure import Element
from headrace.frozen import frozen
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.conditions import Conditions
from headrace.physical.loops.forms import Form, TupleForm, can_be_changed, form_of, kinds_of
from headrace.physical.loops.text import compiled

__all__ = ["ScanLoop", "scan_loop_like"]


@frozen
class ScanLoop:
    """A generated loop.

    Attributes:
        function: it.
        constants: what its text has names for.
        kinds: the types of the outputs that it takes.
    """

    function: Callable[..., Any]
    constants: tuple[Any, ...]
    kinds: frozenset[type] | None

    def run(
        self,
        call: Callable[..., Any],
        rows: Iterator[Element],
        states: list[Element],
        outputs: list[Element],
        patience: Patience,
    ) -> tuple[Element, Any] | None:
        """Calls a function on the last state and a row, and appends the new state and the output.

        Returns:
            The row and what the function returned, where that is not of the form; None after the last row, or when it is time to end.
        """
        now_s, until_s, rows_a_look = patience
        stopped: tuple[Element, Any] | None = self.function(
            rows, call, states[-1], states, outputs, now_s, until_s, rows_a_look, self.constants
        )
        return stopped


def scan_loop_like(state: Element, output: Element) -> ScanLoop | None:
    """Returns the loop for states and outputs like these; None where somebody could change them, or they have no form."""
    form = form_of((state, output))
    return None if form is None or can_be_changed(form) else _loop_for(form)


@functools.lru_cache(maxsize=128)
def _loop_for(form: Form) -> ScanLoop:
    constants: list[Any] = []

    def constant(value: Any) -> str:
        constants.append(value)
        return f"k{len(constants) - 1}"

    assert isinstance(form, TupleForm)  # of a state and an output
    lines = _parted("x", form, ("state", "output"), Conditions(constant, counted=False))
    text = [
        "def loop(rows, call, state, states, outputs, clock, until, chunk, constants):",
        f" {''.join(f'k{number}, ' for number in range(len(constants)))}= constants",
        " row = rows",
        " while True:",
        "  for row in islice(rows, chunk):",
        "   x = call(state, row)",
        *(f"   {line}" for line in lines),
        "   states.append(state)",
        "   outputs.append(output)",
        "  if row is rows or clock() > until:",
        "   return None",
        "  row = rows",
        "",
    ]
    return ScanLoop(compiled("\n".join(text)), tuple(constants), kinds_of(form.parts[1]))


def _parted(name: str, form: TupleForm, parts: Sequence[str], conditions: Conditions) -> list[str]:
    """Returns the lines that take a tuple apart into these variables, and end the loop where it is not of its form.

    Their number is not asked for: to take a tuple apart fails where it is another, and to be ready for that costs nothing.
    """
    surprised = " return row, x"
    lines = [f"if type({name}) is not tuple:", surprised]
    lines += ["try:", f" {''.join(f'{part}, ' for part in parts)}= {name}", "except ValueError:", surprised]
    leaves = []
    for part, below in zip(parts, form.parts, strict=True):
        if isinstance(below, TupleForm) and below.kind is tuple and below.parts:
            lines += _parted(part, below, [f"{part}_{number}" for number in range(len(below.parts))], conditions)
        else:
            leaves += conditions.of(part, below)
    return [*lines, f"if not ({' and '.join(leaves)}):", surprised] if leaves else lines
