"""Trainers for PyTorch and JAX: what ``train_and_evaluate`` needs of a model, from a model's usual parts.

Any object with ``train_step``, ``eval_step``, ``state_dict`` and ``load_state_dict`` is a trainer; these two save the writing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from headrace.elements.ragged import RaggedTensor
from headrace.errors import FailedPreconditionError, MissingExtraError
from headrace.train.fitting import check_arrays, described

__all__ = ["JaxTrainer", "TorchTrainer", "Trainer"]

Metrics = Mapping[str, Any]


class Trainer(Protocol):
    """What ``train_and_evaluate`` trains. Metrics are scalars by name: numbers, or tensors of one."""

    def train_step(self, features: Any, labels: Any) -> Metrics:
        """Makes one step on a batch."""
        ...

    def eval_step(self, features: Any, labels: Any) -> Metrics:
        """Judges a batch, and changes nothing."""
        ...

    def state_dict(self) -> Any:
        """Returns all that a step depends on: nested dicts, lists, numbers, texts, arrays and tensors."""
        ...

    def load_state_dict(self, state: Any) -> None:
        """Becomes what ``state_dict`` described."""
        ...


class TorchTrainer:
    """A PyTorch module with an optimizer and a loss.

    Its state is that of the module, of the optimizer, of the scheduler, and of PyTorch's random numbers on the CPU and the
    device, so that dropout goes on as well. A state of another module, optimizer or scheduler is refused.

    Args:
        module: called with the features.
        optimizer: over the module's parameters.
        loss_fn: called with the module's output and the labels; returns a scalar.
        metrics: called with output and labels; returns more scalars by name. None has the loss alone.
        scheduler: stepped after each step, if given.
        device: where features and labels are moved to, if they are not there already (``to_torch(device)`` does it ahead).

    Raises:
        MissingExtraError: PyTorch is not installed.

    Example:
        >>> import torch
        >>> import headrace as hr
        >>> module = torch.nn.Linear(2, 1)
        >>> trainer = hr.train.TorchTrainer(
        ...     module, torch.optim.SGD(module.parameters(), 0.1), torch.nn.functional.mse_loss
        ... )
        >>> sorted(trainer.train_step(torch.ones(4, 2), torch.ones(4, 1)))
        ['loss']
    """

    def __init__(
        self,
        module: Any,
        optimizer: Any,
        loss_fn: Callable[[Any, Any], Any],
        metrics: Callable[[Any, Any], Metrics] | None = None,
        scheduler: Any = None,
        device: Any = None,
    ) -> None:
        try:
            import torch
        except ImportError:
            raise MissingExtraError("TorchTrainer needs: pip install 'headrace[torch]'") from None
        self._torch = torch
        self.module = module if device is None else module.to(device)
        self.optimizer = optimizer
        self.scheduler = scheduler
        self._loss_fn = loss_fn
        self._metrics = metrics
        self._device = device

    def _moved(self, value: Any) -> Any:
        """Returns all tensors in it on the device; texts and whatever else has no place on one stay."""
        if self._device is None:
            return value
        if isinstance(value, Mapping) and not hasattr(value, "to"):
            return {name: self._moved(part) for name, part in value.items()}
        if isinstance(value, tuple | list) and not hasattr(value, "to"):
            parts = [self._moved(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, RaggedTensor):
            return RaggedTensor(self._moved(value.values), self._moved(value.row_splits))
        return value.to(self._device) if hasattr(value, "to") else value

    def _judged(self, features: Any, labels: Any) -> tuple[Any, dict[str, Any]]:
        labels = self._moved(labels)
        output = self.module(self._moved(features))
        loss = self._loss_fn(output, labels)
        more = self._metrics(output.detach(), labels) if self._metrics is not None else {}
        return loss, {"loss": loss.detach(), **more}

    def train_step(self, features: Any, labels: Any) -> Metrics:
        """Takes one step of the optimizer."""
        self.module.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss, metrics = self._judged(features, labels)
        loss.backward()
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
        return metrics

    def eval_step(self, features: Any, labels: Any) -> Metrics:
        """Returns the loss and the metrics, without gradients."""
        self.module.eval()
        with self._torch.inference_mode():
            return self._judged(features, labels)[1]

    def state_dict(self) -> dict[str, Any]:
        """Returns the states of module, optimizer and scheduler, and the random numbers that come next."""
        cuda = self._torch.cuda.get_rng_state_all() if self._torch.cuda.is_available() else []
        return {
            "module": dict(self.module.state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "scheduler": self.scheduler.state_dict() if self.scheduler is not None else None,
            "random": {"cpu": self._torch.get_rng_state(), "cuda": cuda},
            "parts": self._parts(),
        }

    def _parts(self) -> dict[str, Any]:
        """Returns what the states belong to: which parameters the optimizer has, in its order, and of what classes it and the scheduler are."""
        names = {id(parameter): name for name, parameter in self.module.named_parameters()}
        groups = [[names.get(id(part), "") for part in group["params"]] for group in self.optimizer.param_groups]
        scheduler = None if self.scheduler is None else type(self.scheduler).__name__
        return {
            "optimizer": type(self.optimizer).__name__,
            "scheduler": scheduler,
            "parameters of the optimizer": groups,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Becomes what a state says.

        Raises:
            FailedPreconditionError: it is of another module, optimizer or scheduler; what differs is named.
        """
        check_arrays(
            {name: described(value) for name, value in state["module"].items()},
            {name: described(value) for name, value in self.module.state_dict().items()},
            "module",
        )
        for name, mine in self._parts().items():
            if state["parts"][name] != mine:
                raise FailedPreconditionError(
                    f"the checkpoint is of another model: its {name}: {state['parts'][name]}; this trainer's: {mine}"
                )
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        self._torch.set_rng_state(state["random"]["cpu"])
        if self._torch.cuda.is_available() and state["random"]["cuda"]:
            self._torch.cuda.set_rng_state_all(state["random"]["cuda"])


class JaxTrainer:
    """A train state of JAX's, and pure functions of it: Flax's ``TrainState``, or any pytree.

    Args:
        state: parameters, the optimizer's state, random keys: a pytree of arrays.
        train_step: called with state, features and labels; returns the new state and metrics. Give it as ``jax.jit`` made it.
        eval_step: called with state, features and labels; returns metrics.

    Raises:
        MissingExtraError: JAX is not installed.

    Example:
        >>> import jax.numpy as jnp
        >>> import headrace as hr
        >>> def step(state, features, labels):
        ...     return state + features.sum(), {"loss": state}
        >>> trainer = hr.train.JaxTrainer(jnp.zeros(()), step, lambda state, features, labels: {"loss": state})
        >>> float(trainer.train_step(jnp.ones(3), None)["loss"]), float(trainer.state)
        (0.0, 3.0)
    """

    def __init__(
        self,
        state: Any,
        train_step: Callable[[Any, Any, Any], tuple[Any, Metrics]],
        eval_step: Callable[[Any, Any, Any], Metrics],
    ) -> None:
        try:
            import jax
        except ImportError:
            raise MissingExtraError("JaxTrainer needs: pip install 'headrace[jax]'") from None
        self._jax = jax
        self.state = state
        self._train_step = train_step
        self._eval_step = eval_step

    def train_step(self, features: Any, labels: Any) -> Metrics:
        """Takes one step; the state is the new one from now on."""
        self.state, metrics = self._train_step(self.state, features, labels)
        return metrics

    def eval_step(self, features: Any, labels: Any) -> Metrics:
        """Returns the metrics of a batch."""
        return self._eval_step(self.state, features, labels)

    def state_dict(self) -> dict[str, Any]:
        """Returns the leaves of the state by their paths."""
        return {"leaves": self._leaves()}

    def _leaves(self) -> dict[str, Any]:
        leaves = self._jax.tree_util.tree_flatten_with_path(self.state)[0]
        return {self._jax.tree_util.keystr(path): leaf for path, leaf in leaves}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Puts the arrays back into the structure that this trainer has, where its own arrays lie.

        Raises:
            FailedPreconditionError: a path, a shape or a dtype differs from what this trainer has; what differs is named.
        """
        mine, leaves = self._leaves(), state["leaves"]
        check_arrays(
            {path: described(leaf, mine.get(path)) for path, leaf in leaves.items()},
            {path: described(leaf, leaves.get(path)) for path, leaf in mine.items()},
            "state",
        )
        placed = [self._placed(leaves[path], old) for path, old in mine.items()]
        self.state = self._jax.tree.unflatten(self._jax.tree.structure(self.state), placed)

    def _placed(self, array: Any, old: Any) -> Any:
        return self._jax.device_put(array, old.sharding) if isinstance(old, self._jax.Array) else array
