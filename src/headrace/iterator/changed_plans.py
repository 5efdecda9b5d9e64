"""Whether a plan that was changed on purpose can go on from a position of the plan that it was.

A position says where each operation stands, and operations that hold elements say from where these are to be read again. Other
weights or batches would make others of those: so between what changed and the end of the plan there may only be operations that stand
where their input does. A source that has grown gives what is read again as it was; what has acted on its end cannot go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from headrace.blocks.cursor import State
from headrace.errors import InvalidArgumentError
from headrace.plan.buffering import Prefetch, WithOptions
from headrace.plan.combining import Zip
from headrace.plan.dealing import DealtNumbers, DealtStreams, Filling, Share
from headrace.plan.dealing_batch import DistributedBatch
from headrace.plan.elementwise import Enumerate, Filter, Map, RandomMap
from headrace.plan.fingerprint import Changed
from headrace.plan.grouping import Batch, Unbatch
from headrace.plan.mixing import Mixture
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node, nodes_of
from headrace.plan.sequencing import Concatenate, Repeat, Shard, Skip, Take
from headrace.plan.shuffling import Shuffle
from headrace.plan.skipping import IgnoreErrors
from headrace.plan.stateful import AssertCardinality, Scan, TakeWhile, Unique
from headrace.semantics.dealing import replayed_from
from headrace.semantics.shuffling import buffer_slots

__all__ = ["check_position"]

# What stands where its input does.
_HOLDS_NOTHING: Final = (
    Map, RandomMap, Filter, Batch, Enumerate, Take, Skip, Shard, Repeat, Concatenate, Zip, Mixture, TakeWhile, Scan,
    AssertCardinality, IgnoreErrors, Prefetch, WithOptions, Share, DealtNumbers, DealtStreams,
)  # fmt: skip
# What reads again what it holds, and would read the same where a source has grown.
_READS_AGAIN: Final = (Shuffle, Unique, Unbatch, FlatMap)
# What keeps no state of its own.
_TRANSPARENT: Final = (Filter, Batch, IgnoreErrors, Prefetch, WithOptions)
# What has given all when its input has.
_GIVES_WHAT_IT_GETS: Final = (Map, RandomMap, Filter, Batch, Enumerate, IgnoreErrors, Prefetch, WithOptions)
# An unordered operation that delivered elements before others: how the state of what it reads is wrapped.
_OUT_OF_ORDER: Final = {"map", "delivered", "input"}

_GROWN: Final = frozenset({"grown"})
# Other elements come, and not only more of them.
_OTHERS: Final = frozenset({"weights", "batch_size"})


def check_position(plan: Node, position: State | None, changed: Sequence[Changed]) -> None:
    """Refuses a position from which a changed plan cannot go on.

    Args:
        plan: the changed plan, as a rank runs it; a shuffle's position in it may be written anew, as one that has seen no end.
        position: where the plan that it was stood.
        changed: the nodes that differ, and how.

    Raises:
        InvalidArgumentError: an operation holds what it would have made otherwise, or has acted on an end that is none any more.
    """
    own = _own_words(plan, changed)
    words: dict[int, frozenset[str]] = {}
    for node in nodes_of(plan):
        words[id(node)] = own[id(node)].union(*(words[id(child)] for child in node.inputs))
    waiting = [(plan, position)]
    while waiting:
        node, state = waiting.pop()
        if state is None or not words[id(node)]:
            continue
        if isinstance(node, Repeat) and "grown" in words[id(node)]:
            _begin_next_turn(node, state)
        _check_node(node, state, [words[id(child)] for child in node.inputs], own[id(node)])
        waiting += _read_by(node, state)


def _own_words(plan: Node, changed: Sequence[Changed]) -> dict[int, frozenset[str]]:
    """Returns how nodes differ, by their identity; a dealing, whose batches differ, where what is dealt is counted."""
    by_operation = {node.operation: words for node, words in changed}
    is_dealt_otherwise = any(isinstance(node, DistributedBatch) for node, _ in changed)
    own: dict[int, frozenset[str]] = {}
    for node in nodes_of(plan):
        if isinstance(node, (DealtNumbers, DealtStreams)):
            own[id(node)] = frozenset({"batch_size"}) if is_dealt_otherwise else frozenset()
        else:
            own[id(node)] = by_operation.get(node.operation, frozenset()) - {"paths"}
    return own


def _read_by(node: Node, state: Any) -> Iterator[tuple[Node, State | None]]:
    """Yields what a node reads, and where that stands."""
    if set(state) == _OUT_OF_ORDER and not isinstance(node, (Map, RandomMap)):
        state = state["input"]
    if isinstance(node, DealtStreams):
        for stream in node.owned:
            yield node.input, replayed_from(state["streams"].get(str(stream)), node.each)[0]
    elif isinstance(node, Concatenate):
        yield node.inputs[state["part"]], state["input"]
    elif isinstance(node, (Zip, Mixture)):
        selector = [state["selector"]] if "selector" in state else []
        yield from zip(node.inputs, [*state["inputs"], *selector], strict=True)
    else:
        for child in node.inputs:  # one, or none
            yield child, state if _is_transparent(node) else state["input"]


def _begin_next_turn(node: Repeat, state: Any) -> None:
    """Goes on with the next turn where a shuffle has given all that there was in this one: what is new comes from then on."""
    reader, at = node.input, state["input"]
    while at is not None and isinstance(reader, _GIVES_WHAT_IT_GETS):
        ((reader, at),) = _read_by(reader, at)
    is_over = at is not None and isinstance(reader, Shuffle) and at["emitted"] == at.get("total")
    if is_over and (node.count is None or state["turn"] + 1 < node.count):
        state.update(turn=state["turn"] + 1, empty=True, input=None)


def _is_transparent(node: Node) -> bool:
    if isinstance(node, Map):
        return not node.skips
    return isinstance(node, _TRANSPARENT) or (isinstance(node, Take) and node.count < 0)


def _check_node(node: Node, state: Any, of_inputs: list[frozenset[str]], own: frozenset[str]) -> None:
    """Refuses where a node stands; what changed in each of its inputs, and in itself."""
    below = frozenset[str]().union(*of_inputs)
    others, grown = below & _OTHERS, [index for index, words in enumerate(of_inputs) if "grown" in words]
    if others and (not isinstance(node, _HOLDS_NOTHING) or set(state) == _OUT_OF_ORDER):
        raise _refused(
            others,
            f"{_name(node)} holds elements that it reads again, and would read others: put it before what changes, or change that at "
            "the start of an epoch",
        )
    if grown and not isinstance(node, _HOLDS_NOTHING + _READS_AGAIN):
        raise _refused(
            _GROWN, f"{_name(node)} acts on the end of what it reads, and nothing says whether it had come to that"
        )
    match node:
        case DealtNumbers() | DealtStreams():
            _check_dealing(node, state, own | others, is_dealt_otherwise=bool(own))
        case Shuffle() if grown:
            _forget_end(node, state)
        case Mixture() if not set(grown).isdisjoint(state["ended"]):
            raise _refused(
                _GROWN, f"{_name(node)} had come to the end of a dataset that has grown, and reads it no more"
            )
        case Zip() if grown and state.get("ended"):
            raise _refused(_GROWN, f"{_name(node)} had come to its end")
        case Concatenate() if grown and grown[0] < state["part"]:
            raise _refused(_GROWN, f"{_name(node)} has left the dataset that has grown: concatenate it last")


def _name(node: Node) -> str:
    return "distributed_batch, which fills up what is not whole," if isinstance(node, Filling) else node.label


def _refused(words: frozenset[str], reason: str) -> InvalidArgumentError:
    shown = ", ".join(map(repr, sorted(words)))
    return InvalidArgumentError(f"load_state_dict(allow={{{shown}}}): {reason}")


def _check_dealing(
    node: DealtNumbers | DealtStreams, state: Any, words: frozenset[str], *, is_dealt_otherwise: bool
) -> None:
    """Refuses other elements where some are read again, and other global batches where the present one is not over."""
    if isinstance(node, DealtStreams):
        done, each, width = state["rounds"], node.each, node.num_streams
        if words and any(replayed_from(saved, 1)[1] for saved in state["streams"].values()):
            raise _refused(
                words,
                "the state is of ranks that saved at different steps, and some read steps again: load it as it is, and change the plan "
                "with a later state",
            )
    else:
        done, each, width = state["places"], node.batch, 1
    if not is_dealt_otherwise:
        return
    if state.get("turn"):
        raise _refused(words, f"{node.label} stands within a global batch: go on from a state between two of them")
    if (node.steps is not None or node.fills) and done % each:
        raise _refused(
            words,
            f"the state was saved after {done * width} elements, which are no whole number of global batches of {each * width}, in which "
            "steps are counted: take a size that divides them, or repeat() the dataset and give no steps=",
        )


def _forget_end(node: Shuffle, state: Any) -> None:
    """Refuses a shuffle that has drawn the order of its last elements; of one that has given none takes how many there were."""
    size, count = buffer_slots(node), node.input.cardinality()
    total = state.pop("total", None)
    is_whole = count >= 0 and size >= count
    if state["emitted"] and (total is not None or is_whole):
        seen = "all elements that there were" if total is None else f"the last {min(size, total)} of {total} elements"
        raise _refused(
            _GROWN,
            f"{node.label} has drawn the order of {seen}: go on to the end of the epoch, or of this turn of repeat, with what there was",
        )
    state.pop("computed", None)
