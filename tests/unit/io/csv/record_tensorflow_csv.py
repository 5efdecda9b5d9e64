"""Records what TensorFlow makes of CSV, for test_csv_as_tensorflow.py. Run it by a Python that has TensorFlow:

    python tests/unit/io/csv/record_tensorflow_csv.py > tests/unit/io/csv/tensorflow_csv.json

Each case is decoded as one record (tf.io.decode_csv) and read as a file (tf.data.experimental.CsvDataset). A letter is
a column (f float32, d float64, i int32, l int64, s text); one that is followed by ``!`` is required. An error is null.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

DEFAULTS = {"f": 1.5, "d": 2.5, "i": 3, "l": 4, "s": "none"}
NUMBERS = [
    "1",
    "+1",
    "-1",
    "1.0",
    "1e5",
    "1E-5",
    "1e",
    "1e400",
    "-1e400",
    "1e-40",
    "1e-50",
    "nan",
    "NaN",
    "-nan",
    "+nan",
    "nan(1)",
    "inf",
    "+inf",
    "-INF",
    "Infinity",
    "infin",
    "0x10",
    "0x1p3",
    ".5",
    "5.",
    "-.5",
    ".",
    "-",
    "+",
    "++1",
    "+-1",
    "1_0",
    "1f",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "00012",
    "-0",
    "16777217",
    "3.4028235e38",
    "3.4028236e38",
    "1.17549435e-38",
    "1e-45",
    "7e-46",
    "1.00000005960464477539",
    "1.000000059604644775390625",
    "1.000000059604644775390626",
    "123456789012345678901234567890",
    "true",
    "\uff11",
    "1e1000000000",
    "0e99999",
    "1.e3",
    "0X1F",
    "00x1",
    "1e+05",
    "--1",
    "1-",
    "1.1.1",
]
PADDED = [" 1", "1 ", "\t1", '" 1"', "1 2", "- 1", " ", "1 ", "\v1", '"\n1"', "\x001"]
TEXTS = [
    "",
    "a",
    "a,b",
    ",",
    "a,",
    ",a",
    '"a"',
    '"a","b"',
    '"a,b",c',
    '"a""b",c',
    '"a\nb",c',
    "a\nb,c",
    'a"b,c',
    '"a"b,c',
    '"ab',
    '"ab"c',
    '"a" ,b',
    "\na,b",
    "\r\na,b",
    "a,\nb",
    "a,b\n",
    "a,b\r\n",
    '"a","b"\n',
    "\n",
    '"',
    '""',
    '"",""',
    'a,"b',
    'a,"b""',
    '""""',
    '"a""',
    '"a"",b',
    "a,b,c",
    'é,"ü"',
    ' "a",b',
    'a, "b"',
    "\n\n",
    "a,\n",
    '"a",',
    '","',
    '"",',
    '"a"\n,b',
    "a,b\nc,d\n",
    "a,b\r\nc,d\r\n",
    "a,b\rc,d\r",
    "a,b\n\nc,d\n",
    "a\n\nc\n",
    '"a\nb",c\nd,e\n',
    '"a,""b",c\n',
    'a"b,c\nd,e\n',
    '"a"b,c\nd,e\n',
    '"a"b",c\nd,e\n',
    '"a,c\nd,e\n',
    'x,y\n"a,c\nd,e',
    "a,b,c\nd,e\nf\n",
    '"a"\r"b"\r',
    '""\n',
    '"a"",b\nc",d\n',
    "a\n\rb\n",
    "a\r\r\nb\n",
    'NA,"NA"\n',
]
POOL = ["1", "2.5", "-3", "", "NA", " 1", "1e5", "abc", '"1"', '""', '"a,b"', '"a""b"', '"x\ny"', 'a"b', '"a"b', '"a']

Case = tuple[str, str, dict[str, Any]]


def cases() -> Iterator[Case]:
    """The chosen ones, and some from the dice."""
    for number in NUMBERS + PADDED:
        yield from ((number, kind, {}) for kind in "fdil")
    for text in TEXTS:
        for columns in ("s", "ss!", "s!s"):
            yield text, columns, {}
        yield text, "ss", {"use_quote_delim": False}
        yield text, "ss", {"na_value": "NA"}
    yield from chosen_options()
    dice = random.Random(5)
    for _ in range(150):
        yield thrown(dice)


def chosen_options() -> Iterator[Case]:
    """Other delimiters, and some of the columns."""
    yield "1|2", "ff", {"field_delim": "|"}
    yield '1|"2|3"\n', "fs", {"field_delim": "|"}
    for text in ("1,2,3", "1,2,3\n4,5\n6\n", '1,"2"x,3\n', '1,2,"x"y\n', "x,2,y\n", "1,,3\n"):
        for select in ([0], [1], [2], [3]):
            yield text, "f", {"select_cols": select}
        yield text, "ff", {"select_cols": [0, 2]}
        for columns, exclude in (("f", [0]), ("ff", [1]), ("f", [1, 2]), ("fff", [7]), ("ff", [0])):
            yield text, columns, {"exclude_cols": exclude}
    for text in ("h\n1\n", "h", "", '"h\n2"\n1\n', 'h"x\n1\n2\n', "h,i\n1\n"):
        yield text, "f", {"header": True}


def thrown(dice: random.Random) -> Case:
    """A table of a few rows; mostly of so many columns as it should have."""
    width = dice.randint(1, 3)
    line_break = dice.choice(["\n", "\n", "\r\n", "\r"])
    rows = [
        ",".join(dice.choice(POOL) for _ in range(width if dice.random() < 0.9 else dice.randint(1, 4)))
        for _ in range(dice.randint(1, 4))
    ]
    text = line_break.join(rows) + (line_break if dice.random() < 0.7 else "")
    columns = "".join(dice.choice("fdilsss") + dice.choice(["", "", "!"]) for _ in range(width))
    return text, columns, {"na_value": "NA"} if dice.random() < 0.5 else {}


def plain(tensor: Any) -> Any:
    """A scalar tensor as JSON; floats that JSON lacks are text."""
    value = tensor.numpy()
    if isinstance(value, bytes):
        return value.decode()
    number = value.item()
    return number if math.isfinite(number) else repr(number)


def main() -> None:
    """Prints the record, a case a line."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    dtypes = {"f": tf.float32, "d": tf.float64, "i": tf.int32, "l": tf.int64, "s": tf.string}
    path = Path(tempfile.mkdtemp(), "case.csv")

    def result(make: Callable[[], list[Any]]) -> Any:
        try:
            return [plain(tensor) for tensor in make()]
        except (tf.errors.InvalidArgumentError, ValueError):
            return None

    def elements(defaults: list[Any], options: dict[str, Any]) -> Iterator[Any]:
        iterator = iter(tf.data.experimental.CsvDataset(str(path), defaults, **options))
        while True:
            try:
                yield result(partial(next, iterator))
            except StopIteration:
                return

    lines = []
    for text, columns, options in cases():
        kinds = columns.replace("!", "")
        required = [columns[index + 1 : index + 2] == "!" for index, kind in enumerate(columns) if kind != "!"]
        defaults = [
            tf.constant([] if lacking else [DEFAULTS[kind]], dtypes[kind])
            for kind, lacking in zip(kinds, required, strict=True)
        ]
        path.write_bytes(text.encode())
        in_record = not {"exclude_cols", "header"} & set(options)
        record = result(partial(tf.io.decode_csv, text, defaults, **options)) if in_record else "no such option"
        lines.append(json.dumps([text, columns, options, record, list(elements(defaults, options))]))
    sys.stdout.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
