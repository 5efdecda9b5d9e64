"""The loop of a scan whose states and outputs are of one form that nobody can change: a few comparisons, and no other look at them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from headrace.elements.structure import Element
from headrace.frozen import frozen
from headrace.physical.loop_policy import Patience
from headrace.physical.loops.conditions import Conditions
from headrace.physical.loops.forms import Form, TupleForm, can_be_changed, form_of
from headrace.physical.loops.text import compiled

__all__ = ["ScanLoop", "scan_loop_like"]


@frozen
class ScanLoop:
    """A generated loop, and what its text has names for."""

    function: Callable[..., Any]
    constants: tuple[Any, ...]

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
    conditions = Conditions(constant, counted=False)
    checks = conditions.of("state", form.parts[0]) + conditions.of("output", form.parts[1])
    text = f"""
def loop(rows, call, state, states, outputs, clock, until, chunk, constants):
 {"".join(f"k{number}, " for number in range(len(constants)))}= constants
 row = rows
 while True:
  for row in islice(rows, chunk):
   x = call(state, row)
   if type(x) is not tuple or len(x) != 2:
    return row, x
   state, output = x
   if not ({" and ".join(checks)}):
    return row, x
   states.append(state)
   outputs.append(output)
  if row is rows or clock() > until:
   return None
  row = rows
"""
    return ScanLoop(compiled(text), tuple(constants))
