"""What a trainer and the process beside it say to each other of one run."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from headrace.processes.arena import Place
from headrace.processes.parcels import Parcel

if TYPE_CHECKING:  # a process that calls functions knows nothing of runs, and is there sooner
    from headrace.blocks.cursor import State
    from headrace.observe.failures import StageFailures
    from headrace.physical.run_policy import RunPolicy
    from headrace.plan.options import Options
    from headrace.semantics.run_context import Seeds

__all__ = [
    "AHEAD",
    "NOT_NEEDED",
    "NO_ORIGIN",
    "Again",
    "Answer",
    "Call",
    "Came",
    "Given",
    "Kind",
    "Known",
    "Opening",
    "Read",
    "RunOrder",
    "Setting",
    "Taken",
]

# How many blocks may be on their way: two are ready while the trainer has another, of which it tells when it asks for the next.
AHEAD: Final = 3
# The exit status of a process that nobody needed any more; a function that calls os._exit(0) has another.
NOT_NEEDED: Final = 75
# Stands, with the number of an element in its block, for what its hearer knows better: where the element came from.
NO_ORIGIN: Final = "\0origin"


class Known(NamedTuple):
    """A position that the trainer knows, from which a run can go on without the process that gave it.

    Attributes:
        position: of the stages, in pieces, as ``deep_states`` cuts it; None at the first element.
        caches: what its caches give; None where there are none, and where nobody has asked.
        places: how many elements and failures stood before it in this run.
    """

    position: tuple[Any, list[Any]] | None
    caches: State | None
    places: int


class RunOrder(NamedTuple):
    """What is to run.

    Attributes:
        options: of the run.
        seeds: of its random operations.
        epoch: the index of the epoch.
        feeds: how many buffers its reader fills.
        policy: what it does where it is free to choose.
        start: where it begins; the first element where it says nothing.
        is_resumed: whether its caches give what the state says.
        skipped: how many elements and failures are made again and given to nobody.
        most: how many elements come at once; None is as many as are made in a few milliseconds.
        is_ordered: whether what is made again comes in the order in which it came.
        preparing_s: how long the process may take to start, and ``Options(worker_init=)`` to return; None is as long as it takes.
    """

    options: Options
    seeds: Seeds
    epoch: int
    feeds: int
    policy: RunPolicy
    start: Known
    is_resumed: bool
    skipped: int
    most: int | None
    is_ordered: bool
    preparing_s: float | None


class Kind(enum.IntEnum):
    """What was given."""

    ELEMENTS = enum.auto()
    FAILURE = enum.auto()
    END = enum.auto()
    ERROR = enum.auto()
    REFUSED = enum.auto()  # a dataset was not to be opened
    ELSEWHERE = enum.auto()  # a dataset has to be read where its cache is
    ALONE = enum.auto()  # elements that could not be made again when they came together
    CLOSED = enum.auto()  # behind the end: threads are joined, files closed
    OPENED = enum.auto()  # a dataset stands where it was to be, and nothing was read behind that


class Given(NamedTuple):
    """What a run gives next.

    Attributes:
        kind: what it is.
        number: of this item in the run.
        length: how many elements it has.
        parcel: the elements, or the error.
        known: the position behind it, where that is told.
        own_end: after how many steps a rank has nothing real any more.
        is_last: whether only the end follows.
    """

    kind: Kind
    number: int
    length: int
    parcel: Parcel | None
    known: Known | None
    own_end: int | None
    is_last: bool

    def in_tuples(self) -> tuple[Any, ...]:
        """Returns it without classes, which pickles take several times as long for."""
        parcel = None if self.parcel is None else self.parcel.in_tuples()
        known = None if self.known is None else tuple(self.known)
        return int(self.kind), self.number, self.length, parcel, known, self.own_end, self.is_last

    @classmethod
    def of_tuples(cls, sent: tuple[Any, ...]) -> Self:
        """Returns what was sent so."""
        kind, number, length, parcel, known, own_end, is_last = sent
        parcel = None if parcel is None else Parcel.of_tuples(parcel)
        known = None if known is None else Known(*known)
        return cls(Kind(kind), number, length, parcel, known, own_end, is_last)


class Call(NamedTuple):
    """What a process is to call functions on.

    Attributes:
        key: of the functions.
        functions: them, pickled, where they are told for the first time.
        parcel: the elements.
        words: where they came from, where a function of the user's is told that.
        places: of shared memory that this side has given back.
    """

    key: int
    functions: bytes | None
    parcel: Parcel
    words: list[str] | None
    places: list[Place]


class Again(NamedTuple):
    """What a process is to send once more, each element by itself: what it sent last could not be made again.

    Attributes:
        places: of shared memory that this side has given back.
    """

    places: list[Place]


class Answer(NamedTuple):
    """What became of the elements.

    Attributes:
        parcel: for each piece the elements, or of a failure the index of its map and the error; None where nothing was made.
        error: why not.
        places: of shared memory that this side has given back.
        cpu_s: how long the processor took for it.
        failures: the elements that ``on_error`` replaced.
        held_bytes: how much it holds: in the datasets that it reads, and of what it sent and may have to send again.
    """

    parcel: Parcel | None
    error: Any
    places: list[Place]
    cpu_s: float
    failures: tuple[StageFailures, ...]
    held_bytes: int


class Read(NamedTuple):
    """What a process is to read next of a dataset that a function made of an element.

    Attributes:
        dataset: its number.
        opening: how it is opened, packed; None where the process has it open.
        limit: how many elements at most; 0 is only to open it.
        closed: the numbers of datasets of which nothing is read any more.
        gone: items of datasets in which nobody will ask for a position: the number of each, and that of its dataset.
        places: of shared memory that this side has given back.
    """

    dataset: int
    opening: Parcel | None
    limit: int
    closed: list[int]
    gone: list[tuple[int, int]]
    places: list[Place]


class Opening(NamedTuple):
    """How a dataset is opened that a function makes.

    Attributes:
        key: of the operation.
        function: it, pickled, without what it reads, where it is told for the first time.
        setting: where it stands in the run, pickled.
        element: of which the function makes the dataset.
        at: its index.
        origin: where it came from, in words.
        position: where the dataset begins, in pieces, as ``deep_states`` cuts it; None at its start.
        skipped: how many elements and failures after that are read and given to nobody.
    """

    key: int
    function: bytes | None
    setting: bytes
    element: Any
    at: int
    origin: str
    position: tuple[Any, list[Any]] | None
    skipped: int


class BudgetPart(NamedTuple):
    """What one of several processes may hold of the run's budget.

    Attributes:
        total_bytes: its part of the budget.
        most_bytes: its part of what must be held before that is an error.
    """

    total_bytes: int
    most_bytes: int


class Setting(NamedTuple):
    """Where an operation stands in a run whose datasets another process opens.

    Attributes:
        seeds: of the run.
        epoch: the path of epochs.
        within: the names of the operations around it.
        downstream_maps: how many maps follow.
        max_failures: how many failures a map that skips them may skip.
        options: of the run.
        policy: what the run does where it is free to choose.
        stream: of a dealt plan.
        rank: of a dealt plan.
        deterministic: what stages that were not told do about order.
        budget: how much the process may hold.
    """

    seeds: Seeds
    epoch: tuple[int, ...]
    within: tuple[object, ...]
    downstream_maps: int
    max_failures: int | None
    options: Options
    policy: RunPolicy
    stream: int | None
    rank: int | None
    deterministic: bool
    budget: BudgetPart


class Came(NamedTuple):
    """What a process has read of a dataset.

    Attributes:
        kind: what it is.
        number: of the item.
        length: how many elements it has.
        value: the elements, or the error.
        origin: where they came from.
        known: the position behind it in pieces, where that is told.
    """

    kind: Kind
    number: int
    length: int
    value: Any
    origin: Any
    known: tuple[Any, list[Any]] | None


class Taken(NamedTuple):
    """What the reader has done meanwhile.

    Attributes:
        items: how many items it took.
        places: of shared memory that it has given back.
        numbers: of items whose positions nobody will ask for any more.
    """

    items: int
    places: list[Place]
    numbers: list[int]

    def in_tuples(self) -> tuple[Any, ...]:
        """Returns it without classes, which pickles take several times as long for."""
        return self.items, [tuple(place) for place in self.places], self.numbers

    @classmethod
    def of_tuples(cls, sent: tuple[Any, ...]) -> Self:
        """Returns what was sent so."""
        items, places, numbers = sent
        return cls(items, [Place(*place) for place in places], numbers)
