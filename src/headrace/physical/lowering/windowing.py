"""The stages of operations that make datasets of runs and of groups of elements, and that pack sequences."""

from __future__ import annotations

from headrace.blocks.block import Failure
from headrace.blocks.cursor import IndexCursor, State, input_state
from headrace.physical.block_builder import SavedCursor
from headrace.physical.context import StageContext
from headrace.physical.held import HeldStage
from headrace.physical.input_history import GroupOrigin
from headrace.physical.lower import lower
from headrace.physical.stage import Stage
from headrace.physical.stages.packing import PackStage
from headrace.physical.stages.windowing import WindowStage
from headrace.physical.stages.windowing_groups import GroupWindowsStage
from headrace.physical.workers.subplan_reader import InnerReader
from headrace.plan.packing import Pack
from headrace.plan.windowing import GroupByWindow, Held, Window
from headrace.semantics.failures import located
from headrace.semantics.packing import PACK_REMEDY
from headrace.semantics.window_contents import HeldBlock
from headrace.semantics.windowing import GROUPS_REMEDY, reduced_plan

__all__: list[str] = []


@lower.register
def _held(node: Held, state: State | None, context: StageContext) -> Stage:
    return HeldStage(node.elements, context.meter(node), state["index"] if state else 0)


@lower.register
def _window(node: Window, state: State | None, context: StageContext) -> Stage:
    # What a window holds is read again.
    above = lower(node.input, state, context.replaying())
    return WindowStage(node, above, context.meter(node), holding=context.holding(node, ""))


@lower.register
def _group_by_window(node: GroupByWindow, state: State | None, context: StageContext) -> Stage:
    def open_group(key: int, held: HeldBlock, number: int, saved: State | None) -> InnerReader:
        def open_stage() -> Stage | Failure:
            try:
                plan, inside = reduced_plan(node, key, held, number, context)
                return lower(plan, saved, inside)
            except Exception as error:  # noqa: BLE001 - a user's function may raise anything
                nowhere = IndexCursor(0)  # the stage knows where it stands
                return Failure(located(error, stage=node.reduce_label, origin=origin()), nowhere, nowhere)

        def origin() -> str:
            return GroupOrigin([(held.origins, len(held))]).describe(0)

        return InnerReader(open_stage, None if saved is None else SavedCursor(saved), origin)

    # Elements that are held are read again.
    above = lower(node.input, input_state(state), context.replaying())
    holding = context.holding(node, GROUPS_REMEDY)
    return GroupWindowsStage(node, above, context.meter(node), state, open_group, holding=holding)


@lower.register
def _pack(node: Pack, state: State | None, context: StageContext) -> Stage:
    # Sequences that are held are read again.
    above = lower(node.input, input_state(state), context.replaying())
    return PackStage(node, above, context.meter(node), state, holding=context.holding(node, PACK_REMEDY))
