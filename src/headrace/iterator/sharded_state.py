"""The state of a dealt dataset in shards, one for each stream, for checkpoints that are saved by some ranks and loaded by others.

Each shard is a text of its own that says all that is needed of its stream, so it does not matter who keeps it, nor with which others
it is loaded, as long as they are of one step.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, Final, Protocol

from headrace.errors import InvalidArgumentError
from headrace.iterator.merging import union_of, with_streams
from headrace.semantics.dealing import only_its_own

__all__ = ["ShardedState"]

_PREFIX: Final = "stream_"


class _Loader(Protocol):
    """What has a state: an iterator, or what ``to_torch`` and ``to_jax`` return."""

    def state_dict(self) -> dict[str, Any]:
        """Returns where it stands."""
        ...

    def load_state_dict(self, state: dict[str, Any], *, allow: Collection[str] = ()) -> None:
        """Makes it go on from there."""
        ...


class ShardedState:
    """The state of a loader by streams, so that N ranks save it and M load it: a ``Stateful`` for ``torch.distributed.checkpoint``.

    Each rank saves the streams that it reads, under keys that are the same on any number of ranks, and loads those that it reads
    then. So ``dcp.save()`` and ``dcp.load()`` reshard the input as they reshard the model; any other storage in which each rank finds the
    entries of the others by their names will do as well. All ranks save after the same step.

    Args:
        loader: what ``to_torch`` or ``to_jax`` of a dataset with ``distributed_batch`` returned, or an iterator of it.
        allow: what of the plan may have changed on purpose when a state is loaded, as in ``load_state_dict`` of an iterator.

    Example:
        >>> import headrace as hr
        >>> ds = hr.Dataset.range(100).filter(lambda x: x % 5 != 0).repeat().distributed_batch(8)
        >>> saved = {}
        >>> for rank in range(4):
        ...     it = iter(ds.with_options(hr.Options(rank=rank, world_size=4)))
        ...     first = next(it)
        ...     saved |= hr.ShardedState(it).state_dict()
        >>> sorted(saved)[:3]
        ['stream_0', 'stream_1', 'stream_2']
        >>> it = iter(ds.with_options(hr.Options(rank=0, world_size=2)))
        >>> sharded = hr.ShardedState(it)
        >>> sharded.load_state_dict({key: saved[key] for key in sharded.state_dict()})
        >>> next(it)
        array([31,  9, 11, 13])
    """

    def __init__(self, loader: _Loader, *, allow: Collection[str] = ()) -> None:
        self._loader = loader
        self._allow = allow

    def state_dict(self) -> dict[str, str]:
        """Returns a text for each stream that this rank reads, by keys such as ``"stream_0"``.

        What every rank reads whole has one position, under ``"stream_all"``, which all ranks save and load.

        Raises:
            InvalidArgumentError: the dataset has no ``distributed_batch``, or an operation behind it that holds batches of this rank, so
                that nobody else can go on from its state.
        """
        state = self._loader.state_dict()
        iterator = state.get("iterator", state)
        if "streams" not in iterator:
            raise InvalidArgumentError(
                "ShardedState: a dataset without distributed_batch has no streams; its state is of one rank alone, and no other can "
                "go on from it"
            )
        if "own" in iterator:
            raise InvalidArgumentError(f"ShardedState: {only_its_own(iterator['own']['operation'])}")
        return {f"{_PREFIX}{name}": json.dumps(_of_stream(state, name)) for name in iterator["streams"]}

    def load_state_dict(self, state_dict: Mapping[str, str]) -> None:
        """Makes the loader go on where the ranks stood that saved the shards.

        Args:
            state_dict: at least the shards of the streams that this rank reads.

        Raises:
            InvalidArgumentError: a stream of this rank is missing; the shards are not of one step; or a state is refused, as by
                ``load_state_dict`` of the loader, which is then as it was.
        """
        shards = [shard for key, shard in state_dict.items() if key.startswith(_PREFIX)]
        if not shards:
            raise InvalidArgumentError("ShardedState: this has no streams, so it is no state of a ShardedState")
        self._loader.load_state_dict(union_of([_read(shard) for shard in shards]), allow=self._allow)


def _read(shard: str) -> dict[str, Any]:
    try:
        state = json.loads(shard)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"ShardedState: a shard is damaged: {error}") from error
    if not isinstance(state, dict):
        raise InvalidArgumentError(f"ShardedState: a shard is damaged: it holds a {type(state).__name__}")
    return state


def _of_stream(state: dict[str, Any], name: str) -> dict[str, Any]:
    """Returns a state with one stream of its own alone."""
    if "iterator" in state:
        return {**state, "iterator": _of_stream(state["iterator"], name)}
    return with_streams(state, {name: state["streams"][name]})
