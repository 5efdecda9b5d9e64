"""What goes to another process comes out as it went in."""

from __future__ import annotations

import dataclasses
import os
import pickle
import socket
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from headrace.errors import DataError, HeadraceError, InvalidArgumentError
from headrace.processes.arena import Arena
from headrace.processes.connection import Connection
from headrace.processes.errors_sent import received_error, sent_error
from headrace.processes.leases import Leases
from headrace.processes.parcels import packed, unpacked
from headrace.testing.restoring import same


class Point(NamedTuple):
    x: Any
    y: Any


def sent(value: Any) -> Any:
    """What arrives of it."""
    arena, leases = Arena(), Leases()
    parcel = packed(value, arena)
    leases.add([os.dup(descriptor) for descriptor in arena.fresh()])
    arena.close()
    return unpacked(parcel, leases)


def arrays(sizes: st.SearchStrategy[int]) -> st.SearchStrategy[np.ndarray]:
    dtypes = st.sampled_from([np.uint8, np.int64, np.float32, np.complex128, np.bool_, ">i4", "U3", "M8[s]"])
    return st.builds(lambda dtype, size: np.resize(np.arange(7).astype(dtype), (size, 3)), dtypes, sizes)


@given(
    st.recursive(
        st.one_of(
            st.integers(), st.text(), st.binary(), st.none(), arrays(st.sampled_from([0, 1, 5, 3_000])), st.floats()
        ),
        lambda inner: st.one_of(
            st.tuples(inner, inner), st.dictionaries(st.text(), inner, max_size=3), st.builds(Point, inner, inner)
        ),
        max_leaves=6,
    )
)
def test_elements_arrive_as_they_are(element: Any) -> None:
    arrived = sent([element])
    assert same(element, arrived[0])


@given(
    st.sampled_from([10, 9_000]), st.booleans(), st.sampled_from(["whole", "every second", "turned", "column order"])
)
def test_arrays_of_any_layout_may_be_written_to_afterwards_as_before(size: int, locked: bool, layout: str) -> None:
    whole = np.arange(2.0 * size).reshape(size, 2)
    array = {
        "whole": whole,
        "every second": whole[::2],
        "turned": whole[::-1],
        "column order": np.asfortranarray(whole),
    }[layout]
    array.flags.writeable = not locked
    arrived = sent((array,))[0]
    assert np.array_equal(arrived, array)
    assert arrived.dtype == array.dtype
    assert arrived.flags.writeable is not locked


RECORD = np.dtype([("a", ">i4"), ("b", "f8", (2,))])


@dataclasses.dataclass
class Holder:
    value: Any
    key: Any = None


@pytest.mark.parametrize("size", [2, 900])
@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("by_value", [False, True])
@pytest.mark.parametrize("kind", [np.ndarray, np.recarray, np.matrix])
def test_what_is_written_to_what_arrived_is_there(kind: type, size: int, locked: bool, by_value: bool) -> None:
    whole = np.zeros(3, [("a", "f8", (size, size))])["a"][1].view(kind) if kind is np.matrix else None
    whole = np.zeros(size, RECORD).view(kind) if whole is None else whole
    whole.flags.writeable = not locked
    # What an ordinary pickle cannot take goes by value, with all that is beside it.
    parts = sent(Holder((whole, whole if kind is np.matrix else whole[1]), (lambda: 0) if by_value else None)).value
    for before, arrived in zip((whole, whole[1]), parts, strict=False):
        assert type(arrived) is type(before) or kind is np.matrix
        assert arrived.dtype == before.dtype
        assert arrived.flags.writeable is not locked
        if arrived.dtype.names and not locked:
            arrived["a"] += 7
            assert np.all(arrived["a"] == 7)


@given(st.binary(max_size=6_000), st.sampled_from("Bbchil?fdQ"), st.booleans(), st.booleans())
def test_a_view_of_memory_arrives_as_one(held: bytes, kind: str, locked: bool, by_value: bool) -> None:
    whole = held[: len(held) // 8 * 8]
    view = memoryview(whole if locked else bytearray(whole)).cast(kind) if whole else memoryview(b"")  # type: ignore[call-overload]
    came, *_ = sent([view, Point] if by_value else [view])
    assert isinstance(came, memoryview)
    assert (came.tobytes(), came.format, came.readonly) == (view.tobytes(), view.format, view.readonly)


def test_a_view_of_memory_of_several_axes_is_an_error_and_not_bytes() -> None:
    with pytest.raises(pickle.PicklingError, match="a memoryview of several axes"):
        sent(np.zeros((2, 3)).data)


def test_a_long_message_goes_through_the_memory_as_well() -> None:
    texts = [f"{number} " * 300 for number in range(500)]
    arena = Arena()
    parcel = packed(texts, arena)
    assert not isinstance(parcel.body, bytes)
    arena.close()
    assert sent(texts) == texts


@given(st.lists(st.integers(0, 3 << 20), max_size=4))
def test_messages_of_any_size_come_in_their_order_with_their_descriptors(sizes: list[int]) -> None:
    one, other = (Connection(end) for end in socket.socketpair())
    messages = [bytes([number % 251]) * size for number, size in enumerate(sizes)]

    def send_all() -> None:
        for message in messages:
            reading, writing = os.pipe()
            os.write(writing, b"%d" % len(message))
            one.send(message, [reading])
            os.close(reading)
            os.close(writing)
        one.close()

    sender = threading.Thread(target=send_all)
    sender.start()
    for message in messages:
        received = other.receive()
        assert received is not None
        assert received[0] == message
        (descriptor,) = received[1]
        assert os.read(descriptor, 20) == b"%d" % len(message)
        os.close(descriptor)
    assert other.receive() is None
    sender.join()
    other.close()


def test_what_was_cut_off_is_the_end() -> None:
    one, other = socket.socketpair()
    one.sendall(b"\0" * 7 + b"\x09" + b"\0" * 4 + b"half")
    one.close()
    connection = Connection(other)
    assert connection.receive() is None
    connection.close()


class UnpicklableError(ValueError):
    def __init__(self, one: object, two: object) -> None:
        super().__init__(f"{one} and {two}")
        self.lock = threading.Lock()


def raised(error: BaseException, cause: BaseException | None) -> BaseException:
    try:
        raise error from cause
    except BaseException as caught:
        return caught


def test_an_error_arrives_with_its_place_its_cause_and_the_traceback_in_words() -> None:
    cause = raised(KeyError("label"), None)
    error = raised(DataError("KeyError: 'label'", stage="map 'f' (a.py:3)", origin="element 7"), cause)
    arrived = received_error(sent_error(error), "process 12")
    assert isinstance(arrived, DataError)
    assert (arrived.stage, arrived.origin, str(arrived)) == ("map 'f' (a.py:3)", "element 7", str(error))
    assert isinstance(arrived.__cause__, KeyError)
    (note,) = arrived.__cause__.__notes__
    assert note.startswith("raised in process 12:\n")
    assert "raise error from cause" in note


def test_an_error_that_cannot_be_pickled_arrives_in_words() -> None:
    error = raised(DataError("no", stage="map"), raised(UnpicklableError(1, 2), None))
    arrived = received_error(sent_error(error), "process 12")
    assert isinstance(arrived, HeadraceError)
    assert str(arrived) == "map: no"
    assert str(arrived.__cause__) == "UnpicklableError: 1 and 2"


@pytest.mark.parametrize("error", [InvalidArgumentError("x", origin="o"), ValueError("v"), OSError(2, "gone")])
def test_errors_keep_their_class(error: BaseException) -> None:
    arrived = received_error(sent_error(error), "process 1")
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)


@given(npst.arrays(np.float32, st.sampled_from([(0,), (1,), (2_000, 2)])))
def test_arrays_are_views_of_what_was_written(array: np.ndarray) -> None:
    arrived = sent([array])[0]
    assert arrived.nbytes < 4096 or not arrived.flags.owndata
    assert np.array_equal(arrived, array, equal_nan=True)
