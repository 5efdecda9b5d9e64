"""AlexNet's weights from a file: the published ones as a NumPy dict, or a state dict of PyTorch's.

What always holds: nothing in a file is run. A pickle can call any function, and a ``.npy`` file that holds a dict is a
pickle; so only what makes up arrays is let through, and anything else is an error that names it.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Final

import numpy as np

from examples.alexnet_finetune.alexnet import AlexNet
from examples.alexnet_finetune.pytorch import torch
from headrace.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError

__all__ = ["load_weights"]

# All that NumPy's arrays are pickled with, under the names of its versions 1 and 2.
_ARRAYS_ARE_MADE_OF: Final = {
    *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("core", "_core")),
    *((f"numpy.{core}.multiarray", "scalar") for core in ("core", "_core")),
    *((f"numpy.{core}.numeric", "_frombuffer") for core in ("core", "_core")),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}
_LAST: Final = "fc8"


class _ArraysOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ARRAYS_ARE_MADE_OF:
            raise InvalidArgumentError(
                f"it holds {module}.{name}, which is no array, and is not loaded: it could run code"
            )
        return super().find_class(module, name)


def load_weights(network: AlexNet, path: Path) -> tuple[str, ...]:
    """Fills a network from a file. A last layer for another number of classes is left as it is.

    Args:
        network: it is changed in place.
        path: ``.npy``, a dict of layer names and pairs of weights and biases with axes as in TensorFlow
            (``bvlc_alexnet.npy``); ``.pt`` or ``.pth``, a state dict with names as ``AlexNet`` has them.

    Returns:
        The names of the layers that were filled.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it holds something else, or weights of another network.
    """
    if not path.is_file():
        raise NotFoundError(f"no such file of weights: {path}")
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise InvalidArgumentError(f"weights are a {', '.join(_READERS)} file, and not {path.name!r}")
    try:
        return _fill(network, read(path, network))
    except InvalidArgumentError as error:
        raise error.located(stage=None, origin=str(path)) from error.__cause__


def _fill(network: AlexNet, state: dict[str, Any]) -> tuple[str, ...]:
    filled = []
    for name, layer in network.layers().items():
        found = {kind: _part(state, f"{name}.{kind}") for kind in ("weight", "bias")}
        wrong = [kind for kind, value in found.items() if value.shape != getattr(layer, kind).shape]
        if wrong and name == _LAST and found["weight"].shape[1:] == layer.weight.shape[1:]:
            continue  # other classes
        if wrong:
            given, wanted = (tuple(shape) for shape in (found[wrong[0]].shape, getattr(layer, wrong[0]).shape))
            message = f"{name}.{wrong[0]} has shape {given}, and not {wanted}: these are weights of another network"
            raise InvalidArgumentError(message)
        with torch.no_grad():
            for kind, value in found.items():
                getattr(layer, kind).copy_(value)
        filled.append(name)
    return tuple(filled)


def _part(state: dict[str, Any], name: str) -> Any:
    if name in state:
        return state[name]
    there = ", ".join([*sorted(state)[:4], *["…"][: len(state) > 4]]) or "nothing"
    raise InvalidArgumentError(f"it has no {name}, so these are no weights of this AlexNet; it has {there}")


def _from_torch(path: Path, network: AlexNet) -> dict[str, Any]:
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, EOFError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidArgumentError(
            f"it is no file of tensors as torch.save(network.state_dict()) writes it: {reason}"
        ) from error
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise InvalidArgumentError("it holds no state dict: save network.state_dict()")
    return found


def _from_numpy(path: Path, network: AlexNet) -> dict[str, Any]:
    state = {}
    for name, pair in _dict_in(path).items():
        layer = name.decode() if isinstance(name, bytes) else str(name)
        try:
            weight, bias = (np.asarray(part, np.float32) for part in pair)
        except (TypeError, ValueError) as error:
            raise InvalidArgumentError(f"{layer} is not a pair of weights and biases: {error}") from error
        state[f"{layer}.weight"] = torch.from_numpy(np.ascontiguousarray(_as_torch(layer, weight, network)))
        state[f"{layer}.bias"] = torch.from_numpy(bias)
    return state


def _dict_in(path: Path) -> dict[Any, Any]:
    try:
        with path.open("rb") as file:
            major, _ = np.lib.format.read_magic(file)
            read_header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
            shape, _, dtype = read_header(file)
            if shape != () or not dtype.hasobject:
                raise InvalidArgumentError(f"it holds an array of shape {shape}, and not a dict of layers")
            found = _ArraysOnly(file, encoding="latin1").load()  # as Python 2 pickled it
    except InvalidArgumentError:
        raise
    except OSError as error:
        raise FailedPreconditionError(f"cannot read {path}: {error.strerror}") from error
    except Exception as error:  # a damaged pickle raises whatever it stumbles over
        raise InvalidArgumentError(f"it is no NumPy file, or a damaged one: {error}") from error
    found = found.item() if isinstance(found, np.ndarray) and found.shape == () else found
    if not isinstance(found, dict):
        raise InvalidArgumentError(f"it holds a {type(found).__name__}, and not a dict of layers")
    return found


def _as_torch(layer: str, weight: np.ndarray, network: AlexNet) -> np.ndarray:
    """TensorFlow's axes to PyTorch's: height, width, in, out of a convolution; in, out of a layer behind it."""
    if weight.ndim == 4:
        return weight.transpose(3, 2, 0, 1)
    if layer == "fc6" and weight.ndim == 2 and weight.shape[0] == network.fc6.in_features:
        # What it reads was laid out height, width, channels there, and is channels, height, width here.
        weight = weight.reshape(6, 6, -1, weight.shape[1]).transpose(2, 0, 1, 3).reshape(weight.shape)
    return weight.T


_READERS: Final = {".npy": _from_numpy, ".pt": _from_torch, ".pth": _from_torch}
