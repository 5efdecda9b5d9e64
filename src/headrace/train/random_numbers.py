"""The random numbers of a process: Python's, NumPy's and PyTorch's, the last as far as the program has imported it.

A job has streams of them that do not touch each other: training's, that of an input which is not ours, and the
evaluation's. So what an evaluation or an ``input_fn`` draws changes nothing for training, and a job that goes on draws what
it would have drawn.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["RandomState", "drawing_from", "put_back", "stream_of", "taken", "undisturbed"]

# By library; plain values and arrays alone, so that a checkpoint can be read without the library.
RandomState = dict[str, Any]


def taken() -> RandomState:
    """Returns where all generators stand."""
    # The legacy functions: these are the generators that others draw from.
    state: RandomState = {"python": random.getstate(), "numpy": np.random.get_state(legacy=False)}  # noqa: NPY002
    torch = sys.modules.get("torch")
    if torch is not None:
        state["torch"] = torch.get_rng_state().numpy()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            state["cuda"] = [part.numpy() for part in torch.cuda.get_rng_state_all()]
    return state


def put_back(state: RandomState) -> None:
    """Lets all generators go on from there; those that the state does not tell of stay where they are."""
    random.setstate(state["python"])
    np.random.set_state(state["numpy"])  # noqa: NPY002
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if "torch" in state:
        torch.set_rng_state(torch.from_numpy(state["torch"]))
    if "cuda" in state and torch.cuda.is_available():
        for device, part in enumerate(state["cuda"][: torch.cuda.device_count()]):
            torch.cuda.set_rng_state(torch.from_numpy(part), device)


def stream_of(state: RandomState, name: str) -> RandomState:
    """Returns other random numbers, which follow from a state and a name."""
    digest = hashlib.blake2b(repr((name, state["python"])).encode(), digest_size=16)
    legacy = state["numpy"]["bit_generator"] == "MT19937"  # which it is, unless somebody has put another in its place
    if legacy:
        digest.update(state["numpy"]["state"]["key"].tobytes() + bytes(str(state["numpy"]["state"]["pos"]), "ascii"))
    if "torch" in state:
        digest.update(state["torch"].tobytes())
    seed = int.from_bytes(digest.digest(), "little")
    words = [seed >> shift & 0xFFFFFFFF for shift in range(0, 128, 32)]
    stream: RandomState = {
        "python": random.Random(seed).getstate(),
        "numpy": np.random.RandomState(words).get_state(legacy=False) if legacy else state["numpy"],
    }
    if "torch" in state:
        stream["torch"] = sys.modules["torch"].Generator().manual_seed(seed >> 65).get_state().numpy()
    return stream


@contextlib.contextmanager
def undisturbed() -> Iterator[RandomState]:
    """Undoes what is drawn within when it ends, and yields the states of the generators."""
    state = taken()
    try:
        yield state
    finally:
        put_back(state)


@contextlib.contextmanager
def drawing_from(stream: RandomState) -> Iterator[None]:
    """Draws from a stream within, and goes on as before after it."""
    with undisturbed():
        put_back(stream)
        yield
