"""AlexNet in examples/alexnet_finetune, and the files that fill it: nothing in a file is run."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headrace.errors import InvalidArgumentError, NotFoundError

torch = pytest.importorskip("torch")

from examples.alexnet_finetune.alexnet import AlexNet, LocalResponseNorm, freeze_all_but  # noqa: E402  (they need torch)
from examples.alexnet_finetune.weights import load_weights  # noqa: E402

NARROWER = 16


def network(num_classes: int = 3, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return AlexNet(num_classes, NARROWER)


def as_tensorflow(net: Any) -> dict[str, Any]:
    """What a network has, as the published file has it."""
    found = {}
    for name, layer in net.layers().items():
        weight = layer.weight.detach().numpy()
        if weight.ndim == 4:
            weight = weight.transpose(2, 3, 1, 0)
        elif name == "fc6":
            weight = weight.reshape(len(weight), -1, 6, 6).transpose(2, 3, 1, 0).reshape(-1, len(weight))
        else:
            weight = weight.T
        found[name] = [weight, layer.bias.detach().numpy()]
    return found


def same(one: Any, other: Any, *but: str) -> bool:
    others = other.state_dict()
    return all(torch.equal(value, others[name]) for name, value in one.state_dict().items() if not name.startswith(but))


# ---- the network


def test_it_has_as_many_parameters_as_alexnet() -> None:
    with torch.device("meta"):
        net = AlexNet(1000)
    assert sum(parameter.numel() for parameter in net.parameters()) == 60_965_224
    assert list(net.layers()) == ["conv1", "conv2", "conv3", "conv4", "conv5", "fc6", "fc7", "fc8"]


def test_its_response_normalisation_is_pytorchs() -> None:
    x = 50 * torch.randn(2, 16, 5, 5, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(LocalResponseNorm(16)(x), torch.nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)(x))


def test_only_the_layers_that_are_named_are_trained() -> None:
    net = network()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    descent = torch.optim.SGD(freeze_all_but(net, ["fc8", "fc7"]), 0.1)
    net(torch.randn(2, 227, 227, 3)).square().sum().backward()
    descent.step()
    moved = {name.partition(".")[0] for name, value in net.state_dict().items() if not torch.equal(value, before[name])}
    assert moved == {"fc7", "fc8"}


# ---- files


@pytest.mark.parametrize("name", ["weights.pt", "weights.pth"])
def test_a_state_dict_is_loaded(tmp_path: Path, name: str) -> None:
    torch.save(network(seed=1).state_dict(), tmp_path / name)
    net = network()
    assert load_weights(net, tmp_path / name) == tuple(net.layers())
    assert same(net, network(seed=1))


@pytest.mark.parametrize("as_bytes", [False, True])
def test_the_published_form_is_loaded_with_its_axes_turned(tmp_path: Path, as_bytes: bool) -> None:
    weights: dict[Any, Any] = as_tensorflow(network(seed=1))
    if as_bytes:
        weights = {name.encode(): pair for name, pair in weights.items()}
    np.save(tmp_path / "bvlc_alexnet.npy", np.array(weights))
    net = network()
    assert load_weights(net, tmp_path / "bvlc_alexnet.npy") == tuple(net.layers())
    assert same(net, network(seed=1))


def test_the_last_layer_of_other_classes_stays_random(tmp_path: Path) -> None:
    given = network(num_classes=10, seed=1)
    torch.save(given.state_dict(), tmp_path / "a.pt")
    np.save(tmp_path / "a.npy", np.array(as_tensorflow(given)))
    for file in ("a.pt", "a.npy"):
        net = network()
        assert load_weights(net, tmp_path / file) == tuple(net.layers())[:-1]
        assert same(net, given, "fc8")
        assert torch.equal(net.fc8.weight, network().fc8.weight)


def _torchvisions(path: Path) -> None:
    torch.save({"features.0.weight": torch.zeros(64, 3, 11, 11)}, path)


def _wider(path: Path) -> None:
    torch.save(AlexNet(3, NARROWER // 2).state_dict(), path)


def _whole_module(path: Path) -> None:
    torch.save(torch.nn.Linear(1, 1), path)


def _array(path: Path) -> None:
    np.save(path, np.zeros(3))


def _list(path: Path) -> None:
    np.save(path, np.array([1, "two", None], dtype=object))


def _no_pairs(path: Path) -> None:
    np.save(path, np.array({"conv1": np.zeros(5)}))


def _text(path: Path) -> None:
    path.write_text("weights")


def _cut(path: Path) -> None:
    np.save(path, np.array(as_tensorflow(network())))
    path.write_bytes(path.read_bytes()[:1000])


def _empty(path: Path) -> None:
    path.touch()


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        (
            "a.pt",
            _torchvisions,
            r"a\.pt: it has no conv1\.weight, so .* no weights of this AlexNet; it has features\.0\.weight",
        ),
        ("a.pt", _wider, r"conv1\.weight has shape \(12, 3, 11, 11\), and not \(6, 3, 11, 11\)"),
        ("a.pt", _whole_module, "it is no file of tensors"),
        ("a.pt", _text, "it is no file of tensors"),
        ("a.pt", _empty, "it is no file of tensors"),
        ("a.npy", _array, r"it holds an array of shape \(3,\), and not a dict of layers"),
        ("a.npy", _list, r"it holds an array of shape \(3,\), and not a dict of layers"),
        ("a.npy", _no_pairs, "conv1 is not a pair of weights and biases"),
        ("a.npy", _text, "no NumPy file, or a damaged one"),
        ("a.npy", _cut, "no NumPy file, or a damaged one"),
        ("a.npy", _empty, "no NumPy file, or a damaged one"),
        ("a.h5", _empty, r"weights are a \.npy, \.pt, \.pth file, and not 'a\.h5'"),
    ],
)
def test_a_file_of_something_else_is_said_to_be_so(tmp_path: Path, name: str, write: Any, message: str) -> None:
    write(tmp_path / name)
    net = network()
    with pytest.raises(InvalidArgumentError, match=message):
        load_weights(net, tmp_path / name)
    assert same(net, network())


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no such file of weights: .*/none\.npy"):
        load_weights(network(), tmp_path / "none.npy")


class _Attack:
    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.made),)


@pytest.mark.parametrize("name", ["a.npy", "a.pt"])
def test_code_in_a_file_is_not_run(tmp_path: Path, name: str) -> None:
    attack = {"conv1": _Attack(tmp_path / "attacked")}
    if name.endswith("npy"):
        np.save(tmp_path / name, np.array(attack))
    else:
        torch.save(attack, tmp_path / name)
    with pytest.raises(InvalidArgumentError, match=r"mkdir|no file of tensors"):
        load_weights(network(), tmp_path / name)
    assert not (tmp_path / "attacked").exists()
    pickle.loads(pickle.dumps(attack))  # so the attack is one
    assert (tmp_path / "attacked").exists()
