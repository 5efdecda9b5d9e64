"""What may be said of what a generator yields, in headrace's order of arguments and in tf.data's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError

data = hr.Dataset
Spec = hr.TensorSpec
INT = Spec((), "int64")


def rows(count: int = 2) -> Iterator[int]:
    yield from range(count)


class TensorShape(list[int | None]):
    """A shape as TensorFlow has it: its rank may be unknown."""

    def __init__(self, sizes: list[int | None] | None) -> None:
        super().__init__(sizes or [])
        self.rank = None if sizes is None else len(sizes)


class DType:
    """A dtype as TensorFlow has it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.as_numpy_dtype: Any = object if name == "string" else np.dtype(name).type


TYPES: dict[str, tuple[Any, Any, Any]] = {
    "a dtype": (np.int32, None, Spec(None, "int32")),
    "a name": ("int32", None, Spec(None, "int32")),
    "a type": (float, None, Spec(None, "float64")),
    "text": (str, (), Spec((), str)),
    "text by TensorFlow's name": ("string", (), Spec((), str)),
    "a dtype of TensorFlow's": (DType("int32"), [], Spec((), "int32")),
    "texts of TensorFlow's": (DType("string"), [None], Spec((None,), str)),
    "no axes": ("int32", (), Spec((), "int32")),
    "a list as shape": ("int32", [None, 3], Spec((None, 3), "int32")),
    "a size that varies": ("int32", (None, 3), Spec((None, 3), "int32")),
    "a number as shape": ("int32", 3, Spec((3,), "int32")),
    "a shape of TensorFlow's": ("int32", TensorShape([None, 3]), Spec((None, 3), "int32")),
    "an unknown shape of TensorFlow's": ("int32", TensorShape(None), Spec(None, "int32")),
    "a tuple": (("int32", "float32"), ((), (None,)), (Spec((), "int32"), Spec((None,), "float32"))),
    "a tuple with an unknown shape": (("int32", "int32"), (None, ()), (Spec(None, "int32"), Spec((), "int32"))),
    "nested": (
        {"a": "int32", "b": ("int8", {"c": bool})},
        {"a": (2,), "b": (None, {"c": ()})},
        {"a": Spec((2,), "int32"), "b": (Spec(None, "int8"), {"c": Spec((), bool)})},
    ),
}


@pytest.mark.parametrize("case", sorted(TYPES))
def test_types_and_shapes_are_a_signature(case: str) -> None:
    types, shapes, signature = TYPES[case]
    named = data.from_generator(rows, output_types=types, output_shapes=shapes)
    assert named.element_spec == data.from_generator(rows, types, shapes).element_spec == signature


ORDERS: dict[str, tuple[Callable[[], hr.Dataset], Any]] = {
    "signature": (lambda: data.from_generator(rows, INT), INT),
    "signature, args": (lambda: data.from_generator(rows, INT, (2,)), INT),
    "signature, args, name": (lambda: data.from_generator(rows, INT, (2,), "rows"), INT),
    "signature, named args": (lambda: data.from_generator(rows, INT, args=(2,)), INT),
    "args": (lambda: data.from_generator(rows, args=(2,)), INT),
    "args as a list": (lambda: data.from_generator(rows, args=[2]), INT),
    "types": (lambda: data.from_generator(rows, "int64"), Spec(None, "int64")),
    "types, shapes": (lambda: data.from_generator(rows, "int64", ()), INT),
    "types, shapes, args": (lambda: data.from_generator(rows, "int64", (), (2,)), INT),
    "types, args": (lambda: data.from_generator(rows, "int64", args=(2,)), Spec(None, "int64")),
    "tf.data's order to its end": (lambda: data.from_generator(rows, None, None, (2,), INT, "rows"), INT),
    "by name": (lambda: data.from_generator(rows, output_signature=INT, args=(2,), name="rows"), INT),
}


@pytest.mark.parametrize("case", sorted(ORDERS))
def test_arguments_are_taken_in_either_order(case: str) -> None:
    build, spec = ORDERS[case]
    assert list(build()) == [0, 1]
    assert build().element_spec == spec
    assert "name" not in case or "'rows'" in build().explain()


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "a dtype as signature": (
        {"output_signature": "int32"},
        TypeError,
        "output_signature is 'int32', which is no TensorSpec",
    ),
    "a dtype in it": (
        {"output_signature": (INT, np.int32)},
        TypeError,
        r"output_signature\[1\] is .*hr.TensorSpec\(shape, dtype\)",
    ),
    "a list as signature": ({"output_signature": [INT, INT]}, TypeError, "is a list: a structure is a tuple or a dict"),
    "a list in it": ({"output_signature": {"a": [INT]}}, TypeError, r"\['a'\] is a list"),
    "both": (
        {"output_types": "int32", "output_signature": INT},
        TypeError,
        "either output_signature or output_types, not both",
    ),
    "signature and shapes": ({"output_shapes": (), "output_signature": INT}, TypeError, "or output_shapes, not both"),
    "shapes alone": ({"output_shapes": ()}, TypeError, "output_shapes needs output_types"),
    "no dtype": ({"output_types": "nonsense"}, TypeError, "output_types is 'nonsense', which is no dtype"),
    "an array": ({"output_types": np.zeros(3)}, TypeError, "which is no dtype"),
    "a class": ({"output_types": Spec}, TypeError, "which is no dtype"),
    "a list of dtypes": ({"output_types": ["int32", "int32"]}, TypeError, "which is no dtype"),
    "a specification among types": ({"output_types": ("int32", INT)}, TypeError, "no TensorSpec"),
    "fewer shapes": (
        {"output_types": ("int32", "int32"), "output_shapes": ((),)},
        InvalidArgumentError,
        "structure of output_types",
    ),
    "more shapes": (
        {"output_types": "int32", "output_shapes": ((), ())},
        TypeError,
        "must be a tuple of sizes",
    ),
    "a negative size": ({"output_types": "int32", "output_shapes": (-1,)}, InvalidArgumentError, "has a size below 0"),
    "a shape of texts": (
        {"output_types": ("int32",), "output_shapes": ("a",)},
        TypeError,
        r"output_shapes\[0\] must be .* not 'a'",
    ),
    "args that are none": ({"args": 3}, TypeError, "args is a tuple of what the generator is called with, not 3"),
    "a text as args": ({"args": "ab"}, TypeError, "not 'ab'"),
}


@pytest.mark.parametrize("case", sorted(WRONG))
def test_what_is_no_signature_is_refused_when_it_is_given(case: str) -> None:
    arguments, kind, message = WRONG[case]
    with pytest.raises(kind, match=message):
        data.from_generator(rows, **arguments)
