"""The state of an iterator as plain data: how it is written, and how one that comes back is checked.

What always holds: states share nothing, so a change in one changes no other; a state holds what JSON can hold and nothing else; and
a loaded one is not used before its version, fingerprint and checksum were compared.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

from headrace.blocks.cursor import Cursor, State
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.dealt import dealing_of
from headrace.plan.node import Node
from headrace.plan.options import Options
from headrace.plan.randomness import RankNumbers, claim_epoch, continue_after_epoch
from headrace.semantics.cache_fillings import Fillings
from headrace.semantics.cache_keys import with_keys_of_run
from headrace.semantics.run_context import Seeds

if TYPE_CHECKING:
    from headrace.iterator.rank_states import RankStates
    from headrace.plan.fingerprint import Fingerprint

__all__ = ["STATE_VERSION", "Earlier", "RunStart", "check_whole", "checksum"]

STATE_VERSION: Final = 1


@frozen(kw_only=True)
class RunStart:
    """From where a run starts, and what its states say besides the position.

    Attributes:
        plan: what runs; its caches have the keys of these seeds.
        epoch: the index of the epoch.
        seeds: of its random operations.
        fillings: what its caches give, which the run goes on to decide.
        position: of the stages; None at the first element.
        delivered: how many elements were delivered before.
        ranks: what the states say of a plan that is dealt to ranks.
    """

    plan: Node
    epoch: int
    seeds: Seeds
    fillings: Fillings = dataclasses.field(default_factory=Fillings)
    position: State | None = None
    delivered: int = 0
    ranks: RankStates | None = None

    @classmethod
    def first(cls, built: Node, options: Options, *, counts: bool) -> Self:
        """Returns the start of a new epoch of the plan, or, where it ``counts`` for nothing, of the first once more."""
        ranks = _rank_states(built, options)
        seeds = None if ranks is None else ranks.seeds(built, options)
        if seeds is None:
            seeds = Seeds.of(built, seed=options.seed, entropy=int.from_bytes(os.urandom(7), "big"))
        plan = with_keys_of_run(built, seeds, options)
        epoch = claim_epoch(built, _numbers(ranks)) if counts else 0
        return cls(plan=plan, epoch=epoch, seeds=seeds, fillings=_fillings(plan, options), ranks=ranks)

    @classmethod
    def saved(
        cls,
        state: dict[str, Any],
        built: Node,
        options: Options,
        identity: Callable[[], Fingerprint],
        allowed: frozenset[str] = frozenset(),
    ) -> Self:
        """Returns the start that a state is.

        Args:
            state: what was saved.
            built: the plan that is to go on from it.
            options: of the run.
            identity: of the plan.
            allowed: by which words the plan may differ from that which saved the state.

        Raises:
            InvalidArgumentError: it is damaged, of another plan or of another version; or what differs cannot go on from where it stands.
        """
        _check_looks_like_one(state)
        try:
            if state["version"] != STATE_VERSION:
                message = f"the state has version {state['version']}, this headrace reads version {STATE_VERSION}"
                raise InvalidArgumentError(message)
            changed = identity().check(state["fingerprint"], allowed)
            state = _copied(state)
            check_whole(state)
            seeds = Seeds.restored(built, drawn=state["seeds"], entropy=state["entropy"])
            plan = with_keys_of_run(built, seeds, options)
            ranks = _rank_states(built, options)
            position = _position(state, ranks)
            if changed:
                from headrace.iterator.changed_plans import check_position  # it knows every operation

                check_position(built if ranks is None else ranks.plan(built), position, changed)
            return cls(
                plan=plan,
                epoch=state["epoch"],
                seeds=seeds,
                fillings=_fillings(plan, options, is_restored=True, saved=state.get("caches")),
                position=position,
                delivered=state["delivered"],
                ranks=ranks,
            )
        except InvalidArgumentError:
            raise
        except (LookupError, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"this is no state of an iterator, as state_dict() returns one: {type(error).__name__}: {error}"
            ) from error

    def state(
        self,
        identity: Fingerprint,
        cursor: Cursor | None,
        delivered: int,
        count: int,
        earlier: Earlier | None = None,
        *,
        has_ended: bool = False,
    ) -> dict[str, Any]:
        """Returns the state of the run some elements after a cursor, or after its start, with ``count`` delivered in all.

        Args:
            identity: of the plan.
            cursor: the position; None is the start.
            delivered: how many elements after it.
            count: how many elements were delivered in all.
            earlier: a position some steps before, for ranks that were stopped at different ones.
            has_ended: whether the reader got the end, which ranks with an uneven end have after different steps.
        """
        caches = self.fillings.state(self.plan, self.seeds, (self.epoch,))
        position = self._positioned(cursor, delivered)
        before = [] if earlier is None else [self._positioned(*earlier)]
        return _with_checksum(
            {
                "version": STATE_VERSION,
                "fingerprint": identity.to_json(),
                "epoch": self.epoch,
                "entropy": self.seeds.entropy,
                "seeds": self.seeds.listed(self.plan),
                "delivered": count,
                **({} if caches is None else {"caches": caches}),
                **(_of_one(position) if self.ranks is None else self.ranks.written(position, *before)),
                **({"ended": True} if has_ended and self.ranks is not None and self.ranks.end_apart else {}),
            }
        )

    def _positioned(self, cursor: Cursor | None, delivered: int) -> State | None:
        return cursor.advance(delivered).state() if cursor is not None else self.position

    def continue_after_epoch(self) -> None:
        """Has the iterators that are made from now on be epochs after this one, which was resumed."""
        continue_after_epoch(self.plan, self.epoch, _numbers(self.ranks))


# A position some elements after a cursor; None is the start.
Earlier = tuple[Cursor | None, int]


def _rank_states(built: Node, options: Options) -> RankStates | None:
    """Returns what is said of the ranks of a job; None of a plan that is not dealt to them."""
    dealing = dealing_of(built)
    if dealing is None:
        return None
    from headrace.iterator.rank_states import RankStates  # what few plans need

    return RankStates.of(built, dealing, options)


def _fillings(plan: Node, options: Options, *, is_restored: bool = False, saved: State | None = None) -> Fillings:
    """Returns what the plan's caches give: what a state says, or what the run decides."""
    if options.executor == "subprocess":
        from headrace.backends.subprocess import RemoteFillings

        return RemoteFillings(saved, is_restored=is_restored)
    return Fillings.restored(plan, saved) if is_restored else Fillings()


def _numbers(ranks: RankStates | None) -> RankNumbers | None:
    return None if ranks is None else (ranks.rank.rank, ranks.rank.world_size)


def _of_one(position: State | None) -> dict[str, Any]:
    from headrace.blocks.deep_states import in_pieces  # when somebody asks for a state

    tree, deeper = in_pieces(position)
    return {"position": tree, **({"deeper": deeper} if deeper else {})}


def _position(state: dict[str, Any], ranks: RankStates | None) -> State | None:
    """Returns the position that a state is of."""
    if ranks is not None:
        return ranks.position(state)
    from headrace.blocks.deep_states import whole  # when somebody goes on from a state

    return whole(state["position"], state.get("deeper", []))  # type: ignore[no-any-return]


def _check_looks_like_one(state: object) -> None:
    """Refuses what is something else altogether, as another part of a checkpoint is.

    Raises:
        InvalidArgumentError: it is.
    """
    if isinstance(state, Mapping) and "version" in state:
        return
    shown = f"with the keys {', '.join(map(repr, state)) or 'none'}" if isinstance(state, Mapping) else ""
    message = f"an iterator's state is what its state_dict() returned, not a {type(state).__name__} {shown}".rstrip()
    raise InvalidArgumentError(message)


def check_whole(state: Mapping[str, Any]) -> None:
    """Refuses a state that is not as it was written.

    Raises:
        InvalidArgumentError: its checksum does not fit.
    """
    if state["checksum"] != checksum({key: state[key] for key in state if key != "checksum"}):
        raise InvalidArgumentError("the state is damaged: its checksum does not fit")


def checksum(plain: dict[str, Any]) -> str:
    """Returns a digest of a state that came out of JSON."""
    import json

    return _digest(json.dumps(plain, sort_keys=True))


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _with_checksum(state: dict[str, Any]) -> dict[str, Any]:
    """Returns an equal state of its own, as it comes out of JSON, and with the checksum of that.

    It is written once: all keys are texts, so that it is written in the same order when it has come out of JSON.

    Raises:
        InvalidArgumentError: something in it is no plain data.
    """
    import json

    try:
        text = json.dumps(state, sort_keys=True, default=_written)
        plain: dict[str, Any] = json.loads(text)
    except (TypeError, ValueError) as error:
        message = f"a generator's state_dict() must return what JSON can hold: {error}"
        raise InvalidArgumentError(message) from error
    return {**plain, "checksum": _digest(text)}


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    """Returns an equal state of its own, of one that is plain data."""
    import json

    copy: dict[str, Any] = json.loads(json.dumps(state))
    return copy


def _written(value: Any) -> Any:
    """Returns a generator's own state, which is written only now that somebody asks for it."""
    from headrace.semantics.generator_runs import OwnState  # when a state holds what JSON does not know

    if isinstance(value, OwnState):
        return value.value()
    raise TypeError(f"{type(value).__name__} is no plain data")
