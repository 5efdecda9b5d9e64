"""Lines of JSON for tests: right ones, wrong ones, and those that parsers read differently."""

from __future__ import annotations

import json

from hypothesis import strategies as st

__all__ = ["objects", "texts"]

# Each is where two parsers of JSON were found, or may be feared, to differ.
TOKENS = [
    *("0", "-0", "7", "-12", "1.0", "0.5", "-0.0", "1e2", "1E+2", "01", "1.", ".5", "+1", "- 1", "0x1", "1_0"),
    *("127", "128", "2147483648", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e400"),
    *("1e-400", "3.4e38", "3.5e38", "0.1", "123456789.123456789", "9" * 400, "9" * 4_301, "1" + "0" * 308),
    *("true", "false", "null", "tru", "NaN", "Infinity", "-Infinity", "Inf", "nan", "-NaN", "NaN "),
    *("NaNs", "[NaN, 1]", "[-NaN]", "[1, Infinity]", "[ NaN]", "-Inf"),
    *(
        '"text"',
        '""',
        '"é"',
        '"\\u00e9"',
        '"\\ud83d\\ude00"',
        '"\\ud83d"',
        '"\\udc00"',
        '"\\\\ud83d"',
        '"\\x"',
        '"a\tb"',
    ),
    *('"2020-01-01"', '"1"', '"}{"', '"[[["', "'a'", '"Inf"', '"a\\/b"', '"\\u0000"', '"open'),
    *(
        "[]",
        "[1]",
        "[1, 2]",
        "[1, 2, 3]",
        "[1, null]",
        "[1.5, 2]",
        "[true]",
        '["a", "b"]',
        "[[1, 2], [3, 4]]",
        "[[1], [2, 3]]",
    ),
    *(
        "[1,]",
        "[,]",
        "[" * 201 + "]" * 201,
        "[" * 150 + "]" * 150,
        "[{}, {}]",
        "{}",
        '{"a": 5}',
        '{"a": {"b": 1}}',
        "{",
    ),
]
KEYS = ["a", "b", "c", "s", "v", "\\u0061", "other", ""]

values = st.one_of(st.sampled_from(TOKENS), st.sampled_from(["1", "2", "0.5", '"x"', "[1, 2]", "null"]))
fields = st.tuples(st.sampled_from(KEYS), values).map(lambda pair: f'"{pair[0]}":{pair[1]}')
objects = st.lists(fields, max_size=5).map(lambda parts: "{" + ",".join(parts) + "}")
ODD = [
    *("", " ", "\t", "[1]", "1", "null", '"a"', "{", "}", "{}", '{"a":1}{"a":2}', '{"a":1} {"a":2}', '{"a":', "1}"),
    *(',"b":2}', '{"v":[{}', "{}]}", ",{}]}", '\ufeff{"a":1}', '{"a":1}\r', '{"a":1}x', ' {"a":1}', '{"a":1} ', "\0"),
]
odd = st.sampled_from(ODD)
good = st.fixed_dictionaries(
    {},
    optional={
        "a": st.integers(-200, 200),
        "b": st.floats(width=32) | st.integers(-5, 5),
        "c": st.booleans(),
        "s": st.text(max_size=4),
        "v": st.lists(st.integers(0, 9), max_size=3),
        "other": st.none() | st.lists(st.text(max_size=2), max_size=2),
    },
).map(json.dumps)
lines = st.one_of(good, good, good, objects, odd)
breaks = st.sampled_from(["\n", "\n", "\n", "\r\n", "\n\n"])
texts = st.builds(
    lambda parts, last: ("".join(line + end for line, end in parts) + last).encode(),
    st.lists(st.tuples(lines, breaks), max_size=6),
    st.one_of(st.just(""), lines),
) | st.lists(good.map(lambda line: line.encode() + b"\n"), max_size=6).map(b"".join)
