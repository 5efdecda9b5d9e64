"""What a checkpoint holds comes back bit for bit, and what it cannot hold is refused when it is written."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from headrace.errors import FailedPreconditionError, InvalidArgumentError
from headrace.train import JaxTrainer, TorchTrainer
from headrace.train.checkpoint_values import read_values, write_values


class Pair(NamedTuple):
    one: Any
    two: Any


class OwnDict(dict[Any, Any]):
    pass


def again(value: Any, folder: Path) -> Any:
    write_values(folder, value)
    return read_values(folder)


def test_containers_come_back_as_what_they_are(tmp_path: Path) -> None:
    values = {
        "counter": Counter("aab"),
        "ordered": OrderedDict(b=1, a=2),
        "default": defaultdict(list, {1: [2]}),
        "pair": Pair(1, Pair([2.5], None)),
        "bytes": b"\x00\xff",
        "complex": 1 - 2j,
        3: {True: 1, None: 2, 0.5: 3},
    }
    found = again(values, tmp_path)
    assert repr(found) == repr(values)


JAX_DTYPES = ["bool", "int4", "uint4", "int2", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64"]
FLOATS_OF_8_BITS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.mark.parametrize("dtype", [*JAX_DTYPES, *FLOATS_OF_8_BITS, "float8_e3m4", "float8_e4m3b11fnuz"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_each_dtype_of_jaxs_comes_back_and_numpys_array_of_it(tmp_path: Path, dtype: str, shape: Any) -> None:
    jnp = pytest.importorskip("jax.numpy")
    array = jnp.ones(shape, dtype)
    values = [array, np.asarray(array), np.asarray(array)[()]]
    for value, found in zip(values, again(values, tmp_path), strict=True):
        assert type(found) is type(value)
        assert (found.dtype, found.shape) == (value.dtype, value.shape)
        assert np.asarray(found).tobytes() == np.asarray(value).tobytes()


def _torch_dtypes() -> list[str]:
    torch = pytest.importorskip("torch")
    return sorted(
        {str(value).removeprefix("torch.") for value in vars(torch).values() if isinstance(value, torch.dtype)}
    )


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
def test_each_dtype_of_pytorchs_comes_back_or_is_refused_when_it_is_written(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    held = []
    for name in _torch_dtypes():
        dtype = getattr(torch, name)
        for shape in ((), (3,), (2, 0)):
            try:
                value = torch.zeros(shape, dtype=torch.uint8).view(dtype) if not shape else torch.ones(shape).to(dtype)
            except (RuntimeError, NotImplementedError, TypeError):
                continue  # PyTorch itself cannot make one
            try:
                write_values(tmp_path, {"w": value})
            except InvalidArgumentError as error:
                assert "state['w'] is of type Tensor and dtype" in str(error)  # noqa: PT017 - both outcomes are right
                continue
            found = read_values(tmp_path)["w"]
            assert (found.dtype, found.shape) == (dtype, value.shape)
            if value.numel():
                assert found.reshape(-1).view(torch.uint8).tolist() == value.reshape(-1).view(torch.uint8).tolist()
            held.append(name)
    wanted = {"float8_e4m3fn", "float8_e5m2", "bfloat16", "uint16", "complex64", "float64", "bool", "int64"}
    assert wanted <= set(held)


def test_masks_sparse_and_conjugate_tensors_and_typed_keys_come_back(tmp_path: Path) -> None:
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    sparse = torch.sparse_coo_tensor([[0, 0, 2]], [1.0, 2.0, 3.0], (4,), check_invariants=True)
    conjugate = torch.tensor([1 + 2j]).conj()
    masked = np.ma.MaskedArray([1, 2, 3], [True, False, True], fill_value=7)
    key = jax.random.key(3, impl="rbg")
    found = again(
        [sparse, sparse.coalesce(), conjugate, masked, np.ma.array([1.0]), key, jax.numpy.asarray(1.5)], tmp_path
    )
    assert torch.equal(found[0].to_dense(), sparse.to_dense())
    assert [part.is_coalesced() for part in found[:2]] == [False, True]
    assert torch.equal(found[2], conjugate.resolve_conj())
    assert found[3].mask.tolist() == [True, False, True]
    assert (found[3].data.tolist(), found[3].fill_value) == ([1, 2, 3], 7)
    assert found[4].mask is np.ma.nomask
    assert found[5].dtype == key.dtype
    assert jax.random.bits(found[5]) == jax.random.bits(key)
    assert found[6].weak_type


def _endless() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (OwnDict, r"state\['v'\] is of type OwnDict, a kind of dict"),
        (lambda: defaultdict(lambda: 3), r"state\['v'\] is of type defaultdict"),
        (lambda: {1, 2}, r"state\['v'\] is of type set"),
        (lambda: {(1, 2): 3}, r"state\['v'\] has the key \(1, 2\)"),
        (lambda: np.array([object()]), r"state\['v'\] is of type ndarray and dtype object"),
        (lambda: np.zeros(2, [("a", "i4")]).view(np.recarray), r"state\['v'\] is of type recarray"),
        (_endless, "contains itself"),
    ],
)
def test_what_a_checkpoint_cannot_hold_is_refused_by_its_name(tmp_path: Path, make: Any, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        write_values(tmp_path, {"v": make()})


def test_what_no_file_can_hold_of_a_framework_is_refused_by_its_name(tmp_path: Path) -> None:
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    gone = jax.numpy.ones(2)
    gone.delete()
    quantized = torch.empty(2, device="meta")
    for value in (gone, quantized):
        with pytest.raises(InvalidArgumentError, match=r"state\['v'\] is of type"):
            write_values(tmp_path, {"v": value})


# ---------------------------------------------------------------------------- models


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (
            {"w": (5, 7)},
            r"\['w'\]: shape \(2, 3\), dtype float32 in the checkpoint, shape \(5, 7\), dtype float32 in this",
        ),
        (
            {"v": (2, 3)},
            r"\['w'\]: shape .* in the checkpoint, not there in this trainer; \['v'\]: not there in the checkpoint",
        ),
        ({"w": ((2, 3), "bfloat16")}, "dtype float32 in the checkpoint, .* dtype bfloat16 in this trainer"),
    ],
)
def test_a_checkpoint_of_another_model_of_jaxs_is_refused(mine: Any, words: str) -> None:
    jnp = pytest.importorskip("jax.numpy")

    def trainer(shapes: Any) -> JaxTrainer:
        made = {name: jnp.zeros(*(shape if type(shape[0]) is tuple else (shape,))) for name, shape in shapes.items()}
        return JaxTrainer(made, lambda *a: (a[0], {}), lambda *a: {})

    state = trainer({"w": (2, 3)}).state_dict()
    with pytest.raises(FailedPreconditionError, match=words):
        trainer(mine).load_state_dict(state)


def test_a_number_that_became_an_array_goes_into_a_number() -> None:
    jnp = pytest.importorskip("jax.numpy")
    trainer = JaxTrainer({"step": 0}, lambda *a: (a[0], {}), lambda *a: {})
    trainer.load_state_dict({"leaves": {"['step']": jnp.asarray(3)}})
    assert int(trainer.state["step"]) == 3
    with pytest.raises(
        FailedPreconditionError, match=r"a number \(float\) in the checkpoint, a number \(int\) in this"
    ):
        trainer.load_state_dict({"leaves": {"['step']": 0.5}})


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
@pytest.mark.parametrize("count", [0, 3])
def test_typed_keys_in_a_train_state_go_on(kind: str, count: int, tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")

    def trainer(seed: int) -> JaxTrainer:
        key = jax.random.key(seed, impl=kind)
        return JaxTrainer({"key": jax.random.split(key, count) if count else key}, lambda *a: (a[0], {}), lambda *a: {})

    first, second = trainer(1), trainer(2)
    second.load_state_dict(again(first.state_dict(), tmp_path))
    assert second.state["key"].dtype == first.state["key"].dtype
    assert (jax.random.key_data(second.state["key"]) == jax.random.key_data(first.state["key"])).all()
    other = "rbg" if kind != "rbg" else "threefry2x32"
    with pytest.raises(FailedPreconditionError, match=r"\['key'\]"):
        JaxTrainer({"key": jax.random.key(1, impl=other)}, lambda *a: (a[0], {}), lambda *a: {}).load_state_dict(
            first.state_dict()
        )


def test_a_checkpoint_of_another_model_of_pytorchs_is_refused_by_what_differs() -> None:
    torch = pytest.importorskip("torch")

    def trainer(units: int = 2, optimizer: Any = "SGD", scheduler: bool = False, dtype: Any = None) -> TorchTrainer:
        module = torch.nn.Linear(units, 1, dtype=dtype)
        made = getattr(torch.optim, optimizer)(module.parameters(), 0.1)
        plan = torch.optim.lr_scheduler.StepLR(made, 3) if scheduler else None
        return TorchTrainer(module, made, torch.nn.functional.mse_loss, scheduler=plan)

    state = trainer().state_dict()
    trainer().load_state_dict(state)
    for other, words in [
        (trainer(3), r"weight: shape \(1, 2\), dtype float32 in the checkpoint, shape \(1, 3\)"),
        (trainer(dtype=torch.float64), "dtype float32 in the checkpoint, .* dtype float64"),
        (trainer(optimizer="Adam"), "its optimizer: SGD; this trainer's: Adam"),
        (trainer(scheduler=True), "its scheduler: None; this trainer's: StepLR"),
    ]:
        with pytest.raises(FailedPreconditionError, match=words):
            other.load_state_dict(state)


def test_a_scheduler_of_schedulers_goes_on(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    def trainer() -> TorchTrainer:
        torch.manual_seed(0)
        module = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(module.parameters(), 0.1)
        plans = torch.optim.lr_scheduler
        first, second = plans.LinearLR(optimizer), plans.MultiStepLR(optimizer, [3, 9])
        plan = plans.SequentialLR(optimizer, [first, second], [4])
        return TorchTrainer(module, optimizer, torch.nn.functional.mse_loss, scheduler=plan)

    whole, began, went_on = trainer(), trainer(), trainer()
    x = torch.ones(2, 1)
    for step in range(16):
        whole.train_step(x, x)
        (began if step < 3 else went_on).train_step(x, x)
        if step == 2:
            went_on.load_state_dict(again(began.state_dict(), tmp_path))
    assert [p.tolist() for p in whole.module.parameters()] == [p.tolist() for p in went_on.module.parameters()]


def test_tensors_are_moved_wherever_they_stand_and_texts_stay() -> None:
    torch = pytest.importorskip("torch")
    got: list[Any] = []

    module = torch.nn.Linear(1, 1)

    def forward(features: Any) -> Any:
        got.append(features)
        return module.weight

    module.forward = forward
    loss = lambda output, labels: output.sum()  # noqa: E731 - it is one
    trainer = TorchTrainer(module, torch.optim.SGD(module.parameters(), 0.1), loss, device="cpu")
    trainer.train_step({"a": (torch.ones(1), Pair(torch.ones(1), "text")), "names": ["x"]}, None)
    assert got[0]["a"][1].two == "text"
    assert got[0]["names"] == ["x"]
