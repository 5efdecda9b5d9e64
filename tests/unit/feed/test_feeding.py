"""Feeds: a framework's arrays, the same elements, states, errors and ends as the dataset's own."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.interrupting import interrupted
from tests.unit.queues.background import until

import headrace as hr
from headrace.errors import InvalidArgumentError, MissingExtraError, OutOfRangeError
from headrace.feed.feeding import Feed
from headrace.plan.node import Node

EXECUTORS = ["inline", "thread"]


class Doubled:
    """A transfer that gives an element twice over, so that one sees that it was there; slow ones have a thread."""

    def __init__(self, *, takes_time: bool) -> None:
        self.takes_time = takes_time
        self.begun: list[Any] = []
        self.told = 0

    def begin(self, element: Any) -> Any:
        self.begun.append(element)
        return element

    def finish(self, begun: Any) -> Any:
        return (begun, begun)

    def copies_s(self) -> list[float]:
        ended = len(self.begun) - self.told
        self.told += ended
        return [0.5] * ended


def feed_of(dataset: hr.Dataset, *, ahead: bool, buffer_size: int = 2) -> Feed:
    plan: Node = dataset.__headrace_plan__()
    return Feed(plan, lambda: Doubled(takes_time=ahead), buffer_size)


def no_thread_left() -> bool:
    return not [thread for thread in threading.enumerate() if thread.name.startswith("headrace-")]


def twice(elements: list[Any]) -> list[Any]:
    return [(element, element) for element in elements]


ahead = pytest.mark.parametrize("ahead", [False, True])
executors = pytest.mark.parametrize("executor", EXECUTORS)


@ahead
@executors
@given(st.integers(0, 9), st.integers(0, 4))
def test_the_elements_are_the_datasets(ahead: bool, executor: str, count: int, buffer_size: int) -> None:
    dataset = hr.Dataset.range(count).with_options(hr.Options(executor=executor))
    feed = feed_of(dataset, ahead=ahead, buffer_size=buffer_size)
    assert list(feed) == list(feed) == twice(list(range(count)))
    assert len(feed) == count
    assert no_thread_left()


@ahead
@executors
def test_a_state_counts_what_the_loop_got(ahead: bool, executor: str) -> None:
    dataset = hr.Dataset.range(10).shuffle(10, seed=1).map(lambda x: x + 1, num_parallel_calls=2).batch(3)
    dataset = dataset.map(lambda batch: batch.tolist()).with_options(hr.Options(executor=executor))
    feed = feed_of(dataset, ahead=ahead, buffer_size=3)
    whole = list(feed_of(dataset, ahead=False))
    with iter(feed) as first:
        states = [first.state_dict()]
        epoch_of_first = [next(first)]
        states.append(first.state_dict())
        epoch_of_first += [next(first)]
        states.append(first.state_dict())
        rest = list(first)
        states.append(first.state_dict())
    whole = epoch_of_first + rest
    for count, state in zip([0, 1, 2, len(whole)], states, strict=True):
        with iter(feed) as resumed:
            resumed.load_state_dict(state)
            assert list(resumed) == whole[count:]
        with iter(dataset) as plain:  # the dataset's own state
            plain.load_state_dict(state)
            assert twice(list(plain)) == whole[count:]


@ahead
def test_an_error_comes_in_its_place_and_the_next_call_goes_on(ahead: bool) -> None:
    dataset = hr.Dataset.range(4).map(lambda x: 6 // (x - 1))
    with iter(feed_of(dataset, ahead=ahead)) as iterator:
        assert next(iterator) == (-6, -6)
        with pytest.raises(hr.errors.HeadraceError, match="element 1"):
            next(iterator)
        state = iterator.state_dict()
        assert list(iterator) == twice([6, 3])
        with pytest.raises(OutOfRangeError):
            iterator.get_next()
        iterator.load_state_dict(state)
        assert list(iterator) == twice([6, 3])


@ahead
def test_leaving_early_leaves_no_thread(ahead: bool) -> None:
    feed = feed_of(hr.Dataset.counter().map(lambda x: x, num_parallel_calls=2), ahead=ahead)
    for _, element in zip(range(3), feed, strict=False):
        assert element
    gc.collect()
    assert no_thread_left()
    iterator = iter(feed)
    next(iterator)
    iterator.close()
    iterator.close()
    assert no_thread_left()
    assert list(iterator) == []


def test_no_more_lies_ready_than_the_buffer_holds() -> None:
    transfer = Doubled(takes_time=True)
    feed = Feed(hr.Dataset.counter().__headrace_plan__(), lambda: transfer, 2)
    with iter(feed) as iterator:
        for number in range(20):
            assert next(iterator) == (number, number)
            # Two are ready, one is in the thread's hands, and one was just taken.
            assert len(transfer.begun) <= number + 4


def test_statistics_count_each_step() -> None:
    with iter(feed_of(hr.Dataset.range(5), ahead=True)) as iterator:
        assert iterator.stats().steps == 0
        assert len(list(iterator)) == 5
        stats = iterator.stats()
    assert (stats.steps, len(stats.waits_s), stats.step.waited.count) == (5, 5, 5)
    assert (len(stats.computes_s), stats.step.computed.count) == (5, 5)
    assert stats.wait_s == pytest.approx(sum(stats.waits_s))
    assert stats.copies_s == (0.5,) * 5
    assert (stats.step.copied.count, stats.step.copied.max_s) == (5, 0.5)
    assert stats.pipeline.elements == 5
    assert 0 <= stats.wait_share <= 1
    assert stats.rank == 0


def test_the_rank_is_what_a_launcher_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert iter(feed_of(hr.Dataset.range(1), ahead=False)).stats().rank == 3


@pytest.mark.parametrize("name", ["to_torch", "to_jax", "to_tensorflow"])
def test_a_framework_that_is_not_there_is_an_error_with_the_install_line(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    framework = name.removeprefix("to_")
    monkeypatch.setitem(__import__("sys").modules, framework, None)
    with pytest.raises(MissingExtraError, match=rf"{name} needs: pip install 'headrace\[{framework}\]'"):
        getattr(hr.Dataset.range(2), name)()


def test_arguments_are_checked() -> None:
    for call in (hr.Dataset.range(1).to_torch, hr.Dataset.range(1).to_jax):
        with pytest.raises(InvalidArgumentError, match="buffer_size must be at least 0"):
            call(buffer_size=-1)


# ------------------------------------------------------------------------------- PyTorch


@dataclasses.dataclass
class Sample:
    image: Any
    label: Any


def elements() -> Iterator[Any]:
    yield {"x": np.arange(3), "name": "a"}, np.float32(1.5)


def test_tensors_share_their_memory_with_the_batch() -> None:
    torch = pytest.importorskip("torch")
    addresses: list[int] = []  # a function that kept the batches themselves would be given others back

    def seen(batch: np.ndarray) -> np.ndarray:
        addresses.append(batch.ctypes.data)
        return batch

    dataset = hr.Dataset.range(6).batch(3).map(seen)
    tensors = list(dataset.to_torch())
    assert [tensor.tolist() for tensor in tensors] == [[0, 1, 2], [3, 4, 5]]
    assert [tensor.data_ptr() for tensor in tensors] == addresses
    assert isinstance(tensors[0], torch.Tensor)


@pytest.mark.parametrize(
    ("leaf", "kind"),
    [
        (3, "int64"),
        (2.5, "float64"),
        (True, "bool"),
        (np.float32(1), "float32"),
        (np.zeros((2, 0), np.uint8), "uint8"),
        (np.arange(6)[::-2], "int64"),
        (np.arange(3, dtype=">i4"), "int32"),
        (np.zeros(2, np.complex64), "complex64"),
        (np.zeros(2, np.longlong), "int64"),
        (2**63, "uint64"),
        (1 + 2j, "complex128"),
        (np.ma.array([1, 2]), "int64"),
    ],
)
def test_numbers_of_every_kind_are_tensors(leaf: Any, kind: str) -> None:
    torch = pytest.importorskip("torch")
    (found,) = hr.Dataset.from_tensors((leaf,)).to_torch()
    assert found[0].dtype == getattr(torch, kind)
    assert np.array_equal(found[0].numpy(), np.asarray(leaf))


def test_structure_texts_and_classes_stay_and_floats_take_the_dtype() -> None:
    torch = pytest.importorskip("torch")
    dataset = hr.Dataset.range(1).map(lambda x: Sample({"a": (np.ones(2), "text", None)}, x))
    (found,) = dataset.to_torch(dtype=torch.float16)
    assert isinstance(found, Sample)
    assert found.image["a"][0].dtype == torch.float16
    assert found.image["a"][1:] == ("text", None)
    assert found.label.dtype == torch.int64


def test_tensors_that_a_function_made_go_where_arrays_go() -> None:
    torch = pytest.importorskip("torch")
    both = hr.Dataset.range(2).batch(2).map(lambda x: (x / 2, torch.from_numpy(x / 2), torch.from_numpy(x)))
    (found,) = both.to_torch("meta", dtype=torch.float16)
    assert [(tensor.device.type, tensor.dtype) for tensor in found] == [
        ("meta", torch.float16),
        ("meta", torch.float16),
        ("meta", torch.int64),
    ]
    (found,) = both.to_torch(dtype=torch.float32)
    assert [tensor.tolist() for tensor in found] == [[0, 0.5], [0, 0.5], [0, 1]]
    assert [tensor.dtype for tensor in found] == [torch.float32, torch.float32, torch.int64]


def test_arrays_of_jax_that_a_function_made_go_where_arrays_go() -> None:
    jax = pytest.importorskip("jax")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    (found,) = hr.Dataset.range(4).batch(4).map(jax.numpy.asarray).to_jax(sharding=sharding)
    assert found.sharding == sharding
    assert found.tolist() == [0, 1, 2, 3]


def test_what_has_no_counterpart_is_an_error_in_its_place() -> None:
    pytest.importorskip("torch")
    dataset = hr.Dataset.range(2).map(lambda x: {"when": np.array(["2020-01-01"], "M8[D]")} if x == 0 else {"when": x})
    with iter(dataset.to_torch()) as iterator:
        with pytest.raises(InvalidArgumentError, match=r"to_torch.*component \['when'\], of dtype datetime64"):
            next(iterator)
        assert next(iterator)["when"] == 1


@pytest.mark.parametrize("feed", ["to_torch", "to_jax"])
@pytest.mark.parametrize(
    "masked",
    [np.ma.array([1, 2], mask=[True, False]), np.ma.array(1, mask=True), np.ma.masked],
    ids=["array", "0d", "one"],
)
def test_no_feed_drops_a_mask(feed: str, masked: Any) -> None:
    pytest.importorskip(feed.removeprefix("to_"))
    dataset = hr.Dataset.range(2).map(lambda x: {"a": masked} if x == 0 else {"a": x})
    with iter(getattr(dataset, feed)()) as iterator:
        with pytest.raises(InvalidArgumentError, match=rf"{feed}.*component \['a'\].*mask would be lost"):
            next(iterator)
        assert next(iterator)["a"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"device": "gpu"}, "no device that PyTorch knows"),
        ({"dtype": np.float32}, "must be a torch.dtype"),
        ({"pin_memory": "yes"}, "pin_memory must be"),
    ],
)
def test_torchs_arguments_are_checked(arguments: dict[str, Any], words: str) -> None:
    pytest.importorskip("torch")
    with pytest.raises(InvalidArgumentError, match=words):
        hr.Dataset.range(1).to_torch(**arguments)


def _cuda() -> Any:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return torch


def test_without_cuda_it_is_said() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    for arguments in ({"device": "cuda"}, {"pin_memory": True}):
        with pytest.raises(InvalidArgumentError, match="CUDA"):
            hr.Dataset.range(1).to_torch(**arguments)


@pytest.mark.parametrize("pin_memory", ["auto", False])
def test_on_cuda_every_batch_arrives_whole_and_in_order(pin_memory: Any) -> None:
    torch = _cuda()
    dataset = hr.Dataset.range(50).map(lambda x: np.full((64, 1024), x, np.float32)).batch(3)
    sums = []
    feed = dataset.to_torch("cuda", pin_memory=pin_memory)
    with iter(feed) as iterator:
        for batch in iterator:
            assert batch.is_cuda
            sums.append(batch.sum(dtype=torch.float64))
        stats = iterator.stats()
    assert [float(total) for total in sums] == [float(b.sum(dtype=np.float64)) for b in dataset]
    assert len(stats.copies_s) == len(sums)


# ----------------------------------------------------------------------------------- JAX


def test_jax_gets_arrays_on_its_device_ahead() -> None:
    jax = pytest.importorskip("jax")
    device = jax.devices()[0]
    with iter(hr.Dataset.range(6).map(lambda x: (np.float32(x), "t")).batch(2).to_jax(device)) as iterator:
        batches = list(iterator)
        assert len(iterator.stats().copies_s) == 3
    assert all(isinstance(numbers, jax.Array) and numbers.device == device for numbers, _ in batches)
    assert [numbers.tolist() for numbers, _ in batches] == [[0, 1], [2, 3], [4, 5]]
    assert batches[0][1].tolist() == ["t", "t"]
    assert no_thread_left()


def test_jax_shards_as_it_is_told_and_names_what_cannot_be() -> None:
    jax = pytest.importorskip("jax")
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    (found,) = hr.Dataset.range(4).map(np.float32).batch(4).to_jax(sharding=sharding)
    assert found.sharding == sharding
    with iter(hr.Dataset.range(1).to_jax(sharding=sharding)) as iterator, pytest.raises(InvalidArgumentError):
        next(iterator)


@pytest.mark.parametrize(
    "number",
    [
        np.int64(2**32 + 1),
        np.uint64(2**32),
        np.int64(-(2**31) - 1),
        np.float64(1e300),
        np.complex128(1e300),
        np.complex128(1 - 1e300j),
    ],
)
def test_jax_is_given_no_number_that_it_would_cut(number: Any) -> None:
    pytest.importorskip("jax")
    with pytest.raises(InvalidArgumentError, match=r"component \['a'\].*do not fit .*(32|complex64).*jax_enable_x64"):
        list(hr.Dataset.from_tensors({"a": np.array([0, number], number.dtype)}).to_jax())
    fitting = np.array([0, 1], number.dtype)
    assert [x.tolist() for x in hr.Dataset.from_tensors(fitting.astype(fitting.dtype.newbyteorder(">"))).to_jax()] == [
        [0, 1]
    ]


def test_torch_gets_a_field_of_packed_records() -> None:
    pytest.importorskip("torch")
    records = np.zeros(3, [("a", "f4"), ("b", "i1")])
    (found,) = hr.Dataset.range(1).map(lambda _: records["a"]).to_torch()
    assert found.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "arguments", [{"device": "cpu"}, {"sharding": "data"}, {"device": "cpu", "sharding": "data"}], ids=str
)
def test_jaxs_arguments_are_checked(arguments: dict[str, Any]) -> None:
    pytest.importorskip("jax")
    with pytest.raises(InvalidArgumentError, match=r"device|sharding"):
        hr.Dataset.range(1).to_jax(**arguments)


# ---------------------------------------------------------------------------- TensorFlow


def test_tensorflow_gets_a_dataset() -> None:
    pytest.importorskip("tensorflow")
    dataset = hr.Dataset.range(4).map(lambda x: (x, {"text": str(x), "row": np.zeros(2, np.float32)})).batch(2)
    found: Callable[..., Any] = dataset.to_tensorflow()
    first = next(iter(found))  # type: ignore[call-overload]  # TensorFlow has no types here
    assert first[0].numpy().tolist() == [0, 1]
    assert first[1]["text"].numpy().tolist() == [b"0", b"1"]


@ahead
@executors
@pytest.mark.parametrize("count", [0, 1, 5])
def test_ctrl_c_anywhere_leaves_no_thread_and_the_place_behind_what_was_delivered(
    ahead: bool, executor: str, count: int
) -> None:
    dataset = hr.Dataset.range(5).map(lambda x: x * x, num_parallel_calls=2).with_options(hr.Options(executor=executor))
    whole = list(feed_of(dataset, ahead=False))
    for point in itertools.count():
        iterator = iter(feed_of(dataset, ahead=ahead))
        came = [next(iterator) for _ in range(count)]
        with interrupted(point) as interruption:
            try:
                came += [*itertools.islice(iterator, 1)]
            except KeyboardInterrupt:
                # Where the very first instruction was interrupted nothing has begun, and nothing ends.
                assert point == 0 or no_thread_left(), interruption.where
        state = iterator.state_dict()
        iterator.close()
        assert no_thread_left(), interruption.where
        with iter(feed_of(dataset, ahead=ahead)) as resumed:
            resumed.load_state_dict(state)
            assert came + list(resumed) == whole, interruption.where
        if not interruption.came:
            break


def test_what_lies_ready_on_the_device_has_its_part_of_the_budget() -> None:
    dataset = hr.Dataset.range(40).map(lambda x: np.full(1_000, x)).with_options(hr.Options(ram_budget=40_000))
    with iter(feed_of(dataset, ahead=True, buffer_size=1_000)) as iterator:
        next(iterator)
        assert iterator._reader is not None
        ready = iterator._reader.ready
        until(lambda: ready.snapshot().producers_waiting > 0)
        assert 0 < ready.nbytes <= 40_000
        assert sum(1 for _ in iterator) == 39


@ahead
@executors
@given(st.integers(0, 6), st.integers(0, 8), st.booleans())
def test_a_feeds_state_is_that_of_its_latest_iterator(
    ahead: bool, executor: str, count: int, got: int, drop: bool
) -> None:
    def feed() -> Feed:
        dataset = hr.Dataset.range(count).shuffle(8, seed=3).map(lambda x: x + 1, num_parallel_calls=2)
        return feed_of(dataset.with_options(hr.Options(executor=executor)), ahead=ahead)

    uninterrupted = feed()
    first, second, third = list(uninterrupted), list(uninterrupted), list(uninterrupted)
    stopped = feed()
    list(stopped)
    iterator = iter(stopped)
    head = list(itertools.islice(iterator, got))
    if drop:
        del iterator
        gc.collect()
        assert no_thread_left()
    state = json.loads(json.dumps(stopped.state_dict()))
    resumed = feed()
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    if got <= count:
        assert head + list(resumed) == second
    assert list(resumed) == third  # also where the state was of the end of an epoch: an end is not given twice
    assert len(first) == count


@ahead
def test_a_feed_has_a_state_before_its_first_epoch_and_takes_an_iterators(ahead: bool) -> None:
    feed = feed_of(hr.Dataset.range(3).shuffle(3, seed=1), ahead=ahead)
    start = feed.state_dict()
    whole = list(feed)
    again = feed_of(hr.Dataset.range(3).shuffle(3, seed=1), ahead=ahead)
    again.load_state_dict(start)
    with iter(again) as iterator:
        assert next(iterator) == whole[0]
        again.load_state_dict(iterator.state_dict())
    assert list(again) == whole[1:]


def test_a_state_that_a_feed_cannot_take_leaves_it_as_it_was() -> None:
    feed = feed_of(hr.Dataset.range(3), ahead=False)
    next(iter(feed))
    before = feed.state_dict()
    for wrong in (None, {}, {"iterator": None, "ended": False}, feed_of(hr.Dataset.range(4), ahead=False).state_dict()):
        with pytest.raises(InvalidArgumentError):
            feed.load_state_dict(wrong)  # type: ignore[arg-type]  # which is the point
        assert feed.state_dict() == before
    assert list(feed) == twice([0, 1, 2])


@pytest.mark.parametrize(
    ("number", "kept"),
    [(0.1, "float32"), (1e-300, "float32"), (2.0**24 + 1, "float32"), (complex(0.5, 1 / 3), "complex64")],
)
def test_floats_that_jax_rounds_are_told_once_a_feed(
    number: complex, kept: str, caplog: pytest.LogCaptureFixture
) -> None:
    pytest.importorskip("jax")
    feed = hr.Dataset.from_tensor_slices(np.full(3, number)).to_jax()
    for _ in range(2):
        assert [str(x.dtype) for x in feed] == [kept] * 3
    assert [record.getMessage().split(" (said once)")[0] for record in caplog.records] == [
        f"to_jax: JAX rounds numbers of {np.array(number).dtype} to {kept}"
    ]


@pytest.mark.parametrize("number", [0.5, -(2.0**24), np.nan, np.inf, 3 + 0.25j, 5, np.float32(0.1), True])
def test_nothing_is_told_of_numbers_that_jax_keeps(number: Any, caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("jax")
    (found,) = hr.Dataset.from_tensor_slices(np.array([number])).to_jax()
    np.testing.assert_array_equal(found, number)
    assert not caplog.records


# --------------------------------------------------------------------------------- ranks


def rank_feed(rank: int, ranks: int, *, ahead: bool) -> Feed:
    dataset = hr.Dataset.range(40).filter(lambda x: x % 5 != 0).distributed_batch(4, steps=5)
    dataset = dataset.map(lambda batch: batch.tolist())
    return feed_of(dataset.with_options(hr.Options(rank=rank, world_size=ranks, seed=1)), ahead=ahead)


@ahead
@pytest.mark.parametrize("taken", [0, 2, 5])
@pytest.mark.parametrize("by_streams", [False, True])
def test_what_feeds_of_four_ranks_saved_is_where_those_of_two_begin_once(
    ahead: bool, taken: int, by_streams: bool
) -> None:
    saving = [rank_feed(rank, 4, ahead=ahead) for rank in range(4)]
    for feed in saving:
        with iter(feed) as iterator:
            assert len(list(itertools.islice(iterator, taken))) == taken
    shards = {key: shard for feed in saving for key, shard in hr.ShardedState(feed).state_dict().items()}
    merged = json.loads(json.dumps(hr.merge_states([feed.state_dict() for feed in saving])))
    for rank in range(2):
        epoch = list(rank_feed(rank, 2, ahead=False))
        feed = rank_feed(rank, 2, ahead=ahead)
        if by_streams:
            own = hr.ShardedState(feed)
            own.load_state_dict({key: shards[key] for key in own.state_dict()})
        else:
            feed.load_state_dict(merged)
        assert list(feed) == epoch[taken:]
        assert list(feed) == epoch
    assert no_thread_left()


def test_an_epoch_that_ended_for_all_feeds_has_ended_in_their_state() -> None:
    feeds = [rank_feed(rank, 2, ahead=False) for rank in range(2)]
    assert len(list(feeds[0])) == 5
    assert len(list(itertools.islice(feeds[1], 5))) == 5
    assert not hr.merge_states([feed.state_dict() for feed in feeds])["ended"]
    assert len(list(feeds[1])) == 5
    state = hr.merge_states([feed.state_dict() for feed in feeds])
    assert state["ended"]
    again = rank_feed(0, 1, ahead=False)
    again.load_state_dict(state)
    assert len(list(again)) == 5


FORKS = """
import os, sys
import headrace as hr
from tests.unit.feed.test_feeding import feed_of

iterator = iter(feed_of(hr.Dataset.range(100), ahead=True))
next(iterator)
child = os.fork()
if not child:
    try:
        next(iterator)
    except hr.errors.FailedPreconditionError as error:
        sys.exit(0 if "fork" in str(error) else 2)
    sys.exit(1)
assert os.waitpid(child, 0)[1] == 0
assert next(iterator) == (1, 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_copy_of_the_process_is_told_that_the_feed_is_not_its_own() -> None:
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=60)
