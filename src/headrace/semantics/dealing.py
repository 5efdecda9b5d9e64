"""What both ways of running a dealt plan share: the shape of its states, and what is told where a stream ends too early.

The position of a rank is taken apart when it is saved: what its streams say, by their numbers, and the rest, which is the same on
all ranks. So the states of all ranks together are those of all streams, and each stream goes on wherever it is loaded. A plan that
every rank can read whole has one position that is true of all of them, under the name ``all``.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.blocks.cursor import State
from headrace.blocks.deep_states import in_pieces, is_deep, whole
from headrace.errors import FailedPreconditionError, HeadraceError, InvalidArgumentError
from headrace.plan.dealing import DealtStreams
from headrace.plan.dealing_batch import DistributedBatch
from headrace.ranks import Rank

__all__ = [
    "ALL",
    "apart",
    "missing",
    "only_its_own",
    "read_from_the_start",
    "replayed_from",
    "saved_streams",
    "step_of",
    "stream_names",
    "together",
    "turns_of",
    "woven_order",
]

# The one position of what every rank reads whole.
ALL: Final = "all"


def stream_names(node: DistributedBatch, rank: Rank) -> list[str]:
    """Returns the names under which the state of a rank has its streams."""
    return [ALL] if node.is_whole else [str(stream) for stream in range(rank.rank, node.num_streams, rank.world_size)]


def apart(position: State | None, names: list[str]) -> tuple[State | None, dict[str, Any]]:
    """Takes a position apart: the rest, and where each of the streams with these names is; None is at its start."""
    if position is None:
        return None, dict.fromkeys(names)
    path = _path_to(position, "rounds")
    if path is None:
        return None, {ALL: _written(position)}
    rest = copy = dict(position)
    for key in path:
        copy[key] = dict(copy[key]) if isinstance(copy[key], dict) else list(copy[key])
        copy = copy[key]
    streams = dict.fromkeys(names) | copy.pop("streams")
    # All at once: of streams one is hardly ever deep, and to look at each would take longer than to write them.
    if not is_deep(streams):
        return rest, streams
    return rest, {number: None if state is None else _written(state) for number, state in streams.items()}


def together(rest: State | None, streams: dict[str, Any]) -> State | None:
    """Puts a position together again that ``apart`` took apart."""
    read = {number: _read(state) for number, state in streams.items() if state is not None}
    if ALL in read or not (read or rest):
        return read.get(ALL)
    path = None if rest is None else _path_to(rest, "rounds")
    if rest is None or path is None:
        raise InvalidArgumentError("the state has streams, and no place for them")
    _at(rest, path)["streams"] = read
    return rest


def step_of(node: DistributedBatch, position: State | None) -> int:
    """Returns how many global batches were dealt before a position; one in which an element failed counts like any other."""
    for key, each in (("rounds", node.global_batch_size // node.num_streams), ("places", node.global_batch_size)):
        path = _path_to(position, key)
        if path is not None:
            return int(_at(position, path)[key]) // each
    return 0


def turns_of(position: State | None) -> list[int]:
    """Returns which turn each repeat behind the dealing is in; nothing as long as all are in their first."""
    path = next((found for key in ("rounds", "places") if (found := _path_to(position, key)) is not None), [])
    trees = [_at(position, path[:length]) for length in range(len(path))]
    turns = [tree["turn"] for tree in trees if isinstance(tree, dict) and "turn" in tree]
    return turns if any(turns) else []


def only_its_own(operation: str) -> str:
    """Says why a rank alone can go on from its state."""
    return (
        f"{operation}, behind distributed_batch, holds batches of its rank, so each rank can load its own state alone, and the number of "
        "ranks cannot change. Put it before distributed_batch, where it is dealt"
    )


def _at(tree: Any, path: list[Any]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _path_to(position: Any, name: str) -> list[Any] | None:
    """Returns the keys that lead to what a dealing wrote."""
    waiting: list[tuple[Any, list[Any]]] = [(position, [])]
    while waiting:
        tree, path = waiting.pop()
        if isinstance(tree, dict):
            if name in tree:
                return path
            waiting += [(value, [*path, key]) for key, value in tree.items()]
        elif isinstance(tree, (list, tuple)):
            waiting += [(value, [*path, index]) for index, value in enumerate(tree)]
    return None


def _written(state: State) -> State:
    tree, deeper = in_pieces(state)
    return {"deep": tree, "deeper": deeper} if deeper else tree


def _read(state: State) -> State:
    if "replay" in state:
        return {**state, "state": None if state["state"] is None else _read(state["state"])}
    return whole(state["deep"], state["deeper"]) if "deeper" in state else state


def replayed_from(state: State | None, each: int) -> tuple[State | None, int]:
    """Returns from where a stream is to be read, and how many elements of it, ``each`` a global batch, were delivered since then."""
    if state is not None and "replay" in state:
        return state["state"], state["replay"] * each + state.get("rounds", 0)
    return state, 0


def read_from_the_start(position: State | None) -> State:
    """Returns the state of a stream that is read from the start of the turn of a position, and is where all streams are there."""
    path = _path_to(position, "rounds")
    return {"replay": 0, "rounds": 0 if path is None else _at(position, path)["rounds"], "state": None}


def saved_streams(node: DealtStreams, state: State | None) -> dict[int, State | None]:
    """Returns where each of a rank's streams is to begin."""
    if state is None:
        return dict.fromkeys(node.owned)
    streams = state["streams"]
    return {stream: streams.get(str(stream)) for stream in node.owned}


def missing(node: DealtStreams, stream: int, rounds: int) -> HeadraceError | None:
    """Returns the error in the place of an element that a stream which has ended should have; None where its end is that of all.

    It stands in each of its places up to the end that all ranks know, so that a rank has as many steps as any other, whatever
    streams it has.
    """
    if node.fills:
        return FailedPreconditionError(
            f"stream {stream} has no element that could be read, so that there is none to fill its part of a batch with: give a smaller "
            "num_streams=, or end='drop' or 'uneven'",
            stage="distributed_batch",
        )
    if node.steps is None:
        return _no_batch(node, stream, rounds)
    return FailedPreconditionError(
        f"stream {stream} has ended, and has no element for step {rounds // node.each} of steps={node.steps}: give fewer steps, or "
        "repeat() the dataset before distributed_batch",
        stage="distributed_batch",
    )


def _no_batch(node: DealtStreams, stream: int, rounds: int) -> HeadraceError | None:
    """Returns the error in the first step of a job that has none because a stream is short; None where that was passed.

    Of one stream alone it is no error: then the dataset has no batch.
    """
    if rounds >= node.each or node.num_streams == 1:
        return None
    has = f"{rounds} element{'s' * (rounds > 1)}, of which a global batch takes {node.each}" if rounds else "no element"
    return FailedPreconditionError(
        f"stream {stream} of {node.num_streams} has {has}, so that no global batch is whole and none comes: give a smaller num_streams=, "
        "or end='pad' or 'uneven', or repeat() the dataset before distributed_batch; or shuffle what is read by number before a filter, as "
        "all that it keeps may lie in few streams",
        stage="distributed_batch",
    )


def woven_order(streams: int, rounds: int) -> np.ndarray:
    """Returns where the elements of streams lie, one of each in turn, if each stream's come one after the other (int64)."""
    return np.arange(streams * rounds).reshape(streams, rounds).T.ravel()
