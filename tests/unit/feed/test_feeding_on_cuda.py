"""Feeds to a GPU: whatever the batches are, whenever the step reads them, and wherever the loop stops."""

from __future__ import annotations

import functools
import itertools
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.feed.test_feeding import no_thread_left

import headrace as hr
from headrace.errors import DataError, InvalidArgumentError
from headrace.feed import page_locks
from headrace.feed.feeding import Feed

DTYPES = ["bool", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", ">f4", ">i8"]
# The GPU is busy for about so many of its cycles, so that a loop that reads too early would find something else.
BUSY_CYCLES = 2_000_000


@pytest.fixture(autouse=True)
def torch() -> Any:
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    return found


def made(seed: int) -> dict[str, Any]:
    """Returns a batch whose arrays' shapes, dtypes, order in memory and values are those of its number."""
    random = np.random.default_rng(seed)

    def array() -> np.ndarray:
        shape = random.choice([0, 1, 3, 64, 500], random.integers(0, 3), p=[0.05, 0.2, 0.25, 0.25, 0.25])
        whole = random.integers(0, 100, shape).astype(random.choice(DTYPES))
        return whole.T if random.integers(2) else whole[::2] if whole.ndim else whole

    return {"x": array(), "more": (array(), f"text {seed}"), "y": array()}


def batches(count: int, first: int = 0) -> hr.Dataset:
    return hr.Dataset.range(first, first + count).map(lambda number: made(int(number)))


def same(found: Any, expected: Any) -> bool:
    leaves = [found["x"], found["more"][0], found["y"]]
    assert all(tensor.is_cuda for tensor in leaves)
    wanted = [expected["x"], expected["more"][0], expected["y"]]
    return found["more"][1] == expected["more"][1] and all(
        tensor.shape == array.shape and np.array_equal(tensor.cpu().numpy(), array)
        for tensor, array in zip(leaves, wanted, strict=True)
    )


@given(
    st.integers(0, 1000), st.integers(0, 12), st.integers(0, 3), st.sampled_from(["auto", True, False]), st.booleans()
)
def test_every_batch_arrives_whole_whenever_the_step_reads_it(
    seed: int, count: int, buffer_size: int, pin_memory: Any, on_a_stream: bool
) -> None:
    import torch

    stream = torch.cuda.Stream() if on_a_stream else torch.cuda.current_stream()
    feed = batches(count, seed).to_torch("cuda", pin_memory=pin_memory, buffer_size=buffer_size)
    kept = []
    with torch.cuda.stream(stream), iter(feed) as iterator:
        for batch in iterator:
            torch.cuda._sleep(BUSY_CYCLES)  # a step that is long under way while the next batches are copied
            kept.append(
                {"x": batch["x"].clone(), "more": (batch["more"][0].clone(), batch["more"][1]), "y": batch["y"].clone()}
            )
            del batch
    stream.synchronize()
    assert len(kept) == count
    assert all(same(batch, made(number)) for number, batch in enumerate(kept, seed))
    assert no_thread_left()


@given(st.integers(1, 8), st.integers(0, 3), st.data())
def test_a_loop_goes_on_where_it_was_stopped(count: int, buffer_size: int, data: st.DataObject) -> None:
    taken = data.draw(st.integers(0, count))
    feed = functools.partial(batches(count).to_torch, "cuda", buffer_size=buffer_size)
    with iter(feed()) as iterator:
        for _ in range(taken):
            next(iterator)
        state = iterator.state_dict()
    with iter(feed()) as again:
        again.load_state_dict(state)
        rest = list(again)
    assert len(rest) == count - taken
    assert all(same(batch, made(number)) for number, batch in enumerate(rest, taken))


def test_what_was_not_taken_is_given_back(torch: Any) -> None:
    dataset = hr.Dataset.range(100).map(lambda x: np.full((1 << 20,), x, np.float32))
    list(dataset.take(1).to_torch("cuda"))
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for taken in range(4):
        with iter(dataset.to_torch("cuda", buffer_size=3)) as iterator:
            for _ in range(taken):
                next(iterator)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() <= before
    assert no_thread_left()


LARGE = (1 << 16,)  # of float32, as many bytes as pay to be sent from where they lie


def large(number: int) -> np.ndarray:
    return np.full(LARGE, number, np.float32)


def batched(count: int, size: int, options: hr.Options) -> hr.Dataset:
    return hr.Dataset.range(count).map(large, num_parallel_calls=2).batch(size).with_options(options)


@pytest.mark.parametrize("executor", ["thread", "subprocess", "process"])
@pytest.mark.parametrize("buffer_size", [0, 1, 4])
def test_batches_are_sent_from_where_they_were_made(executor: Any, buffer_size: int, torch: Any) -> None:
    feed = batched(200, 6, hr.Options(executor=executor)).to_torch("cuda", buffer_size=buffer_size)
    for _ in range(2):  # the second epoch begins with the memory of the first
        kept = []
        for batch in feed:
            torch.cuda._sleep(BUSY_CYCLES)
            kept.append(batch)
        assert [batch[:, 0].tolist() for batch in kept] == [
            list(range(first, min(first + 6, 200))) for first in range(0, 200, 6)
        ]
        assert all(bool((batch == batch[:, :1]).all()) for batch in kept)


def test_memory_that_is_used_again_is_locked_once(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    register = page_locks._registered

    def registered(address: int, nbytes: int) -> bool:
        asked.append(address)
        return register(address, nbytes)

    monkeypatch.setattr(page_locks, "_registered", registered)
    for batch in batched(400, 4, hr.Options()).to_torch("cuda"):
        del batch
    assert asked
    assert len(asked) < 30


def test_memory_that_cuda_refuses_leaves_no_error_to_others(torch: Any) -> None:
    (whole,) = hr.Dataset.range(8).map(large, num_parallel_calls=2).batch(8)
    home = page_locks.home_of(whole)
    assert home is not None
    where = home.bytes.ctypes.data, home.bytes.nbytes
    assert page_locks._registered(*where)
    try:
        assert not page_locks._registered(*where)
        assert not any(page_locks.is_locked(home) for _ in range(3))
        assert torch.ones(3, device="cuda").sum().item() == 3
    finally:
        page_locks._unregister(where[0], 0, os.getpid())


def test_a_batch_is_whole_after_the_loop_has_left_and_its_memory_is_another_ones(torch: Any) -> None:
    for number in range(4):
        with iter(batched(64, 8, hr.Options()).to_torch("cuda")) as iterator:
            kept = next(iterator)
            for _ in range(number):
                torch.cuda._sleep(BUSY_CYCLES)
                kept = next(iterator)
        for batch in batched(64, 8, hr.Options()):
            batch[:] = -1
        assert kept[:, 0].tolist() == list(range(8 * number, 8 * number + 8))
        assert bool((kept == kept[:, :1]).all())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_copy_of_the_process_changes_nothing(torch: Any) -> None:
    with iter(batched(200, 4, hr.Options()).to_torch("cuda")) as iterator:
        for number, batch in enumerate(iterator):
            if number % 8 == 5:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DeprecationWarning)  # of threads that a copy has not
                    child = os.fork()
                if not child:
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
            assert batch[:, 0].tolist() == list(range(4 * number, 4 * number + 4))
            assert bool((batch == batch[:, :1]).all())


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("is_given", ["writable", "read-only"])
def test_large_arrays_that_headrace_does_not_own_arrive_whole(order: Any, is_given: str, torch: Any) -> None:
    wholes = [np.full((512, 512), number, np.float32, order=order) for number in range(9)]
    for whole in wholes:
        whole.flags.writeable = is_given == "writable"
    for number, found in enumerate(hr.Dataset.range(9).map(lambda x: wholes[int(x)]).to_torch("cuda")):
        assert bool((found == number).all())


def test_memory_does_not_grow_with_the_epoch(torch: Any) -> None:
    dataset = hr.Dataset.range(300).map(lambda x: np.full((1 << 18,), x, np.float32))
    highest = []
    with iter(dataset.to_torch("cuda")) as iterator:
        for number, batch in enumerate(iterator):
            batch.sum()
            del batch
            if number in (50, 299):
                highest.append(torch.cuda.max_memory_reserved())
    assert highest[1] <= highest[0] + (8 << 20)  # of 249 batches of a mebibyte


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_small_floats_arrive_as_they_are(name: str, torch: Any) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.arange(-3, 4).astype(getattr(ml_dtypes, name))
    (found,) = hr.Dataset.from_tensors(array).to_torch("cuda")
    assert found.is_cuda
    assert found.dtype == getattr(torch, name)
    assert found.float().tolist() == [-3, -2, -1, 0, 1, 2, 3]


def test_a_dtype_is_for_floats(torch: Any) -> None:
    dataset = hr.Dataset.from_tensors({"x": np.array([0.5, 1.5]), "n": np.array([1, 2])})
    (found,) = dataset.to_torch("cuda", dtype=torch.float16)
    assert (found["x"].dtype, found["n"].dtype) == (torch.float16, torch.int64)
    assert found["x"].tolist() == [0.5, 1.5]


def test_what_is_on_the_gpu_already_stays_there(torch: Any) -> None:
    def function(x: int) -> dict[str, Any]:
        return {"gpu": torch.full((3,), int(x), device="cuda"), "cpu": torch.full((2,), int(x))}

    for number, found in enumerate(hr.Dataset.range(5).map(function).to_torch("cuda")):
        assert found["gpu"].tolist() == [number] * 3
        assert found["cpu"].is_cuda
        assert found["cpu"].tolist() == [number] * 2


def test_pinned_memory_stays_on_the_host(torch: Any) -> None:
    for number, found in enumerate(hr.Dataset.range(6).batch(2).to_torch(pin_memory=True)):
        assert found.is_pinned()
        assert not found.is_cuda
        assert found.tolist() == [2 * number, 2 * number + 1]


def test_an_element_that_fails_is_named_and_the_next_ones_come(torch: Any) -> None:
    def function(x: int) -> Any:
        if x == 2:
            raise ValueError("broken")
        return np.full(3, np.datetime64("2026-01-01")) if x == 3 else np.full(3, x)

    with iter(hr.Dataset.range(6).map(function).to_torch("cuda")) as iterator:
        found: list[Any] = []
        for _ in range(7):
            try:
                found.append(next(iterator)[0].item())
            except StopIteration:
                found.append("end")
            except InvalidArgumentError:
                found.append("no counterpart")
            except DataError as error:
                found.append(str(error.__cause__))
    assert found == [0, 1, "broken", "no counterpart", 4, 5, "end"]


def test_a_device_that_is_not_there_is_named(torch: Any) -> None:
    missing = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(InvalidArgumentError, match=missing):
        hr.Dataset.range(1).to_torch(missing)


def _trained(steps: int, trainer: hr.train.TorchTrainer, elements: Iterator[Any]) -> list[float]:
    return [float(trainer.train_step(*batch)["loss"]) for batch in itertools.islice(elements, steps)]


def test_a_training_goes_on_to_the_last_bit(torch: Any) -> None:
    def trainer() -> hr.train.TorchTrainer:
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Dropout(0.5), torch.nn.Linear(64, 1))
        return hr.train.TorchTrainer(
            network.cuda(), torch.optim.SGD(network.parameters(), 0.1), torch.nn.functional.mse_loss, device="cuda"
        )

    rows = np.random.default_rng(0).random((256, 9), np.float32)

    def feed() -> Feed:
        return hr.Dataset.from_tensor_slices((rows[:, :8], rows[:, 8:])).shuffle(256, seed=1).batch(16).to_torch("cuda")

    whole = trainer()
    with iter(feed()) as iterator:
        expected = _trained(16, whole, iterator)
    first = trainer()
    with iter(feed()) as iterator:
        losses = _trained(7, first, iterator)
        state, model = iterator.state_dict(), first.state_dict()
    second = trainer()
    second.load_state_dict(model)
    with iter(feed()) as iterator:
        iterator.load_state_dict(state)
        losses += _trained(16, second, iterator)
    assert losses == expected


def test_jax_gets_arrays_on_its_gpu() -> None:
    jax = pytest.importorskip("jax")
    device = jax.devices()[0]
    if device.platform != "gpu":
        pytest.skip("JAX has no GPU here")
    for number in range(20):
        batch = {
            "x": np.random.default_rng(number).random((number, 5), np.float32),
            "n": np.arange(number, dtype=np.int32),
        }
        (found,) = hr.Dataset.from_tensors(batch).to_jax(device)
        assert all(array.device == device for array in found.values())
        assert all(np.array_equal(found[name], array) for name, array in batch.items())
