"""The loop of a scan whose states and outputs are of one form: a few comparisons, and no other look at them.

What somebody could change is taken as it is where nobody else has it, which is counted, as in the loop of a map. The function is handed
the state as others may see it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from headrace.elements.function_results import COUNTS
from headrace.elements.structure import Element
from headrace.frozen import frozen
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.compiled import compiled
from headrace.physical.loops.conditions import Conditions
from headrace.physical.loops.forms import (
    ArrayForm,
    DictForm,
    Form,
    ListForm,
    TupleForm,
    can_be_changed,
    form_of,
    kinds_of,
)

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
    """Returns the loop for states and outputs like these; None where they have no form, or who has them cannot be counted."""
    form = form_of((state, output))
    if isinstance(form, TupleForm) and any(isinstance(part, ListForm) for part in form.parts):
        return None  # a list that is a state or an output is a tuple
    return None if form is None or (can_be_changed(form) and not COUNTS) else _loop_for(form)


@functools.lru_cache(maxsize=128)
def _loop_for(form: Form) -> ScanLoop:
    constants: list[Any] = []

    def constant(value: Any) -> str:
        constants.append(value)
        return f"k{len(constants) - 1}"

    assert isinstance(form, TupleForm)  # of a state and an output
    if can_be_changed(form):
        lines = _taken(form, Conditions(constant, counted=True))
    else:
        lines = _parted("x", form, ("state", "output"), Conditions(constant, counted=False))
    seen = _as_seen(form.parts[0])
    text = [
        "def loop(rows, call, state, states, outputs, clock, until, chunk, constants):",
        f" {''.join(f'k{number}, ' for number in range(len(constants)))}= constants" if constants else "",
        *(f" {line}" for line in seen),
        " row = rows",
        " while True:",
        "  for row in islice(rows, chunk):",
        f"   x = call({'seen' if seen else 'state'}, row)",
        *(f"   {line}" for line in lines),
        *(f"   {line}" for line in seen),
        "   states.append(state)",
        "   outputs.append(output)",
        "  if row is rows or clock() > until:",
        "   return None",
        "  row = rows",
        "",
    ]
    return ScanLoop(compiled("\n".join(text)), tuple(constants), kinds_of(form.parts[1]))


def _as_seen(form: Form) -> list[str]:
    """Returns the lines that make of a state what the function is handed; none where it is the state itself."""
    if not can_be_changed(form):
        return []
    if isinstance(form, ArrayForm):
        return ["seen = state.view()", "seen.setflags(False)"]
    if isinstance(form, DictForm) and not any(map(can_be_changed, form.parts)):
        return ["seen = state.copy()"]
    return ["seen = read_only(state)"]


def _taken(form: TupleForm, conditions: Conditions) -> list[str]:
    """Returns the lines that take a state and an output which nobody else has, and end the loop with all else.

    Both may be one object, as functions mostly write it where they are alike: then the output is a copy.
    """
    of_both = conditions.of("x", form)
    lines = [f"if not ({' and '.join(of_both)}):", " return row, x", *conditions.copies("x", form), "state, output = x"]
    state, output = form.parts
    if state == output and can_be_changed(state):
        of_one = [*conditions.of("x", state)]
        copy = "x.copy('K')" if isinstance(state, ArrayForm) else "copied(x)"
        lines = [
            "if type(x) is tuple and len(x) == 2 and x[0] is x[1]:",
            " x = x[0]",
            f" if not ({' and '.join(of_one)}):",
            "  return row, (x, x)",
            *(f" {line}" for line in conditions.copies("x", state)),
            f" state, output = x, {copy}",
            "else:",
            *(f" {line}" for line in lines),
        ]
    return [*lines, f"{' = '.join([*conditions.variables, 'x'])} = None"]


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
