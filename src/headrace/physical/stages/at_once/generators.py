"""How generators give all their elements at once, where they have few."""

from __future__ import annotations

from headrace.blocks.block import Block
from headrace.blocks.origin import IndexOrigin
from headrace.physical.at_once import Making, makes_at_once
from headrace.physical.context import StageContext
from headrace.physical.given import TakesLong
from headrace.physical.made import Pieces
from headrace.physical.stage import Stage
from headrace.physical.stages.sources_generator import GeneratorRun, GeneratorStage
from headrace.plan.sources import FromGenerator


@makes_at_once(FromGenerator)
def _generator(node: FromGenerator, making: Making, room: int) -> Pieces | None:
    small, room = making.small, min(room, making.room)
    if small is None or room < 1:
        return None
    making.has_called = True
    run = GeneratorRun(node, None, small.taking(node), small.clock)
    made: Block | None = None
    error = None
    try:
        if run.own_state() is None:  # or each block of its elements begins with one
            cursor = run.cursor()
            wanted = room if making.first is None else min(making.first, room)
            rows, error = run.next_elements(wanted, may_join=False, is_stacked=False)
            made = Block(rows, cursor, IndexOrigin(range(len(rows)))) if len(rows) else None
            if error is None and (run.has_ended or len(rows) == making.first):
                run.close()
                return [] if made is None else [made]
    except BaseException:
        run.close()
        raise

    def stage(context: StageContext) -> Stage:
        return GeneratorStage(node, context.meter(node), run, made, error)

    raise TakesLong(node, [], stage)
