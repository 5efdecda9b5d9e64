"""What ``hr.train`` and ``hr.queue`` offer: TensorFlow's names, with TensorFlow's arguments in TensorFlow's order."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import headrace as hr

# From inspect.signature(tf.compat.v1.train.…), TensorFlow 2.21, without its own **kwargs.
SIGNATURES = {
    "match_filenames_once": "pattern name",
    "limit_epochs": "tensor num_epochs name",
    "input_producer": "input_tensor element_shape num_epochs shuffle seed capacity shared_name summary_name name cancel_op",
    "string_input_producer": "string_tensor num_epochs shuffle seed capacity shared_name name cancel_op",
    "range_input_producer": "limit num_epochs shuffle seed capacity shared_name name",
    "slice_input_producer": "tensor_list num_epochs shuffle seed capacity shared_name name",
    "batch": "tensors batch_size num_threads capacity enqueue_many shapes dynamic_pad allow_smaller_final_batch shared_name name",
    "maybe_batch": "tensors keep_input batch_size num_threads capacity enqueue_many shapes dynamic_pad allow_smaller_final_batch shared_name name",
    "batch_join": "tensors_list batch_size capacity enqueue_many shapes dynamic_pad allow_smaller_final_batch shared_name name",
    "maybe_batch_join": "tensors_list keep_input batch_size capacity enqueue_many shapes dynamic_pad allow_smaller_final_batch shared_name name",
    "shuffle_batch": "tensors batch_size capacity min_after_dequeue num_threads seed enqueue_many shapes allow_smaller_final_batch shared_name name",
    "maybe_shuffle_batch": "tensors batch_size capacity min_after_dequeue keep_input num_threads seed enqueue_many shapes allow_smaller_final_batch shared_name name",
    "shuffle_batch_join": "tensors_list batch_size capacity min_after_dequeue seed enqueue_many shapes allow_smaller_final_batch shared_name name",
    "maybe_shuffle_batch_join": "tensors_list batch_size capacity min_after_dequeue keep_input seed enqueue_many shapes allow_smaller_final_batch shared_name name",
    "TextLineReader": "skip_header_lines name",
    "WholeFileReader": "name",
    "FixedLengthRecordReader": "record_bytes header_bytes footer_bytes hop_bytes name encoding",
    "TFRecordReader": "name options",
}
DEFAULTS = {
    "num_epochs": None,
    "shuffle": True,
    "seed": None,
    "num_threads": 1,
    "enqueue_many": False,
    "shapes": None,
    "dynamic_pad": False,
    "allow_smaller_final_batch": False,
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_and_defaults_are_tensorflows(name: str) -> None:
    parameters = inspect.signature(getattr(hr.train, name)).parameters
    assert list(parameters) == SIGNATURES[name].split()
    for argument, parameter in parameters.items():
        if argument in DEFAULTS:
            assert parameter.default == DEFAULTS[argument], argument
    if "capacity" in parameters:
        assert parameters["capacity"].default == (inspect.Parameter.empty if "shuffle_batch" in name else 32)


def test_all_that_is_offered_is_there() -> None:
    for module in (hr.train, hr.queue):
        assert all(hasattr(module, name) for name in module.__all__)
        assert list(module.__all__) == sorted(module.__all__, key=_as_listed)
    assert set(SIGNATURES) <= set(hr.train.__all__)


def _as_listed(name: str) -> tuple[int, str]:
    """Constants first, then classes, then functions: as the linter sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_training_is_imported_when_it_is_first_used() -> None:
    code = (
        "import sys, headrace as hr; before = 'headrace.train' in sys.modules; hr.train.batch; "
        "print(before, 'headrace.train' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.split() == ["False", "True"]


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'headrace' has no attribute 'trian'"):
        hr.trian  # type: ignore[attr-defined]  # noqa: B018 - what is tested is that a type checker sees it, too
