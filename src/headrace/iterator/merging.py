"""The states of the ranks of a job, made one that any number of ranks can go on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.errors import InvalidArgumentError
from headrace.iterator.saved_state import check_whole, checksum
from headrace.semantics.dealing import ALL, only_its_own, read_from_the_start

__all__ = ["merge_states", "union_of", "with_streams"]

# What all ranks must have alike, and how an error calls it.
_ALIKE: Final = {
    "version": "version",
    "fingerprint": "plan",
    "num_streams": "number of streams",
    "epoch": "epoch",
    "seeds": "seeds",
    "entropy": "seeds",
}


def merge_states(states: Sequence[Mapping[str, Any]], *, align: bool = False) -> dict[str, Any]:
    """Returns the state of a whole job, of the states that its ranks saved: any number of ranks can go on from it.

    Each rank says where its own streams are; together they are all streams. A state that was merged before may be among them.

    Args:
        states: what ``state_dict()`` of each rank's iterator returned, or of what ``to_torch`` and ``to_jax`` return, in any order, also
            after a round trip through JSON.
        align: whether ranks may have saved at different steps, as when one of them died in between. The job then goes on from the
            lowest of these steps; those that were further go back, as each state also says where its rank was a few steps before.

    Raises:
        InvalidArgumentError: the states are of different plans, epochs or steps; a stream is missing, or said twice; one is
            damaged; an operation behind ``distributed_batch`` holds batches of its rank (a shuffle, a window); or, with ``align``, a rank was
            so far ahead that its state does not reach back.

    Example:
        >>> import headrace as hr
        >>> ds = hr.Dataset.range(100).distributed_batch(8)
        >>> states = []
        >>> for rank in range(4):
        ...     it = iter(ds.with_options(hr.Options(rank=rank, world_size=4)))
        ...     first = next(it)
        ...     states.append(it.state_dict())
        >>> it = iter(ds.with_options(hr.Options(rank=0, world_size=2)))
        >>> it.load_state_dict(hr.merge_states(states))
        >>> next(it)
        array([ 8, 10, 12, 14])
    """
    merged = union_of(states, align=align)
    iterator = merged.get("iterator", merged)
    _check_all(iterator["streams"], iterator)
    return merged


def union_of(states: Sequence[Mapping[str, Any]], *, align: bool = False) -> dict[str, Any]:
    """Returns the state that has the streams of all that are given, as ``merge_states``; not all streams need be there.

    Raises:
        InvalidArgumentError: as ``merge_states``, but for what is missing.
    """
    if not states:
        raise InvalidArgumentError("merge_states: there is no state to merge")
    if isinstance(states, Mapping) or not all(isinstance(state, Mapping) for state in states):
        raise InvalidArgumentError("merge_states: give a list of the states of ranks, as merge_states([state, other])")
    have_ended = [bool(state.get("ended", False)) for state in states]
    if any("iterator" in state for state in states):  # of feeds, whose epoch has ended when it has for every rank
        union = _union([state.get("iterator", state) for state in states], have_ended, align=align)
        return {"iterator": union, "ended": all(have_ended)}
    return _union(states, have_ended, align=align)


def _union(states: Sequence[Mapping[str, Any]], have_ended: Sequence[bool], *, align: bool) -> dict[str, Any]:
    """Returns the union of the states of iterators, some of which had ended when others had not."""
    for number, state in enumerate(states):
        _check_state(state, number)
        _check_alike(states[0], state, number)
    # A rank that has ended has no part in the steps that others still have.
    under_way = [_place_of(state) for state, has_ended in zip(states, have_ended, strict=True) if not has_ended]
    place = min(under_way) if under_way else max(map(_place_of, states))
    at_place = [state for state in states if _place_of(state) == place]
    lowest = next((state for state in at_place if state["position"] is not None), at_place[0])
    streams: dict[str, Any] = {}
    for number, (state, has_ended) in enumerate(zip(states, have_ended, strict=True)):
        if has_ended and _place_of(state) < place:
            found = {stream: position for stream, position in state["streams"].items() if stream != ALL}
        else:
            found = _streams_at(state, lowest, number, align=align)
        for stream, position in found.items():
            # What all read whole may be said in several ways: whose blocks ended elsewhere read on from another place.
            if streams.setdefault(stream, position) != position and stream != ALL:
                raise InvalidArgumentError(f"merge_states: two states say differently where stream {stream} is")
    merged = {**lowest, **_caches_of(states)}
    if not all(have_ended):
        merged.pop("ended", None)
    return with_streams(merged, streams)


def with_streams(state: Mapping[str, Any], streams: dict[str, Any]) -> dict[str, Any]:
    """Returns a state with other streams, and nothing of where they were before."""
    merged = {**state, "streams": streams, "earlier": None}
    del merged["checksum"]
    return {**merged, "checksum": checksum(merged)}


# So many steps are read again from the start, where a state does not reach back to them.
_FROM_THE_START: Final = 8

# Which turn each repeat behind distributed_batch is in, and the step in it.
_Place = tuple[list[int], int]


def _place_of(state: Mapping[str, Any]) -> _Place:
    return state.get("turns", []), state["step"]


def _in_words(place: _Place) -> str:
    turns, step = place
    return f"step {step}" + "".join(f" of turn {turn} of repeat" for turn in reversed(turns))


def _check_state(state: Mapping[str, Any], number: int) -> None:
    if "streams" not in state:
        raise InvalidArgumentError(
            f"merge_states: state {number} is of no plan with distributed_batch, so it has no streams; load it as it is"
        )
    check_whole(state)
    if "own" in state:
        raise InvalidArgumentError(
            f"merge_states: state {number} cannot be merged: {only_its_own(state['own']['operation'])}"
        )


def _check_alike(first: Mapping[str, Any], state: Mapping[str, Any], number: int) -> None:
    for key, name in _ALIKE.items():
        if state.get(key) != first.get(key):
            raise InvalidArgumentError(f"merge_states: state {number} is of another {name} than state 0")


def _streams_at(state: Mapping[str, Any], lowest: Mapping[str, Any], number: int, *, align: bool) -> dict[str, Any]:
    """Returns where a rank's streams were at the step of the state that is of the lowest one."""
    own, place = _place_of(state), _place_of(lowest)
    if own == place:
        return dict(state["streams"])
    if not align:
        raise InvalidArgumentError(
            f"merge_states: state {number} was saved at {_in_words(own)}, and another at {_in_words(place)}: save after the same step, or "
            "pass align=True to go back to the lowest"
        )
    if ALL in state["streams"]:  # which the state of the lowest step says as well
        return {}
    earlier = state["earlier"]
    reach = own if earlier is None else _place_of(earlier)
    if earlier is not None and reach <= place and reach[0] == place[0]:
        return {stream: _replayed(position, place[1] - reach[1]) for stream, position in earlier["streams"].items()}
    if place[1] <= _FROM_THE_START:  # of the turn that a repeat behind the dealing is in, or of the epoch
        return dict.fromkeys(state["streams"], read_from_the_start(lowest["position"]))
    raise InvalidArgumentError(
        f"merge_states: state {number} was saved at {_in_words(own)} and reaches back to {_in_words(reach)}, but another was saved at "
        f"{_in_words(place)}: take states that were saved nearer to each other"
    )


def _replayed(position: Any, steps: int) -> Any:
    if not steps:
        return position
    if isinstance(position, dict) and "replay" in position:  # the rank itself went on from ranks that were steps apart
        return {**position, "replay": position["replay"] + steps}
    return {"replay": steps, "state": position}


def _caches_of(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns which fillings the caches give, of which a rank knows those that it has read."""
    known = [state["caches"] for state in states if state.get("caches")]
    if not known:
        return {}
    inside = {name: filling for caches in known for name, filling in caches["inside"].items()}
    plan = [next(filter(None, fillings), None) for fillings in zip(*(caches["plan"] for caches in known), strict=True)]
    if any(caches["inside"][name] != inside[name] for caches in known for name in caches["inside"]):
        raise InvalidArgumentError("merge_states: the ranks read different fillings of a cache that a function opens")
    return {"caches": {"plan": plan, "inside": inside}}


def _check_all(streams: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Refuses a union in which a stream is missing; at the start of an epoch no state says any."""
    if not streams or ALL in streams:
        return
    missing = [number for number in range(state["num_streams"]) if str(number) not in streams]
    if missing:
        shown = ", ".join(map(str, missing[:8])) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
        raise InvalidArgumentError(
            f"merge_states: no state says where stream {shown} is (of {state['num_streams']}): give the states of all ranks"
        )
