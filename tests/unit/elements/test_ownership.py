"""Whose memory is whose: what others see, and copies of one's own."""

from __future__ import annotations

import collections

import numpy as np
import pytest

from headrace.elements.ownership import copied, read_only


def fresh() -> np.ndarray:
    return np.arange(12.0).reshape(4, 3)


def test_a_copy_has_the_layout_and_the_flags_of_the_original() -> None:
    array = np.asfortranarray(fresh())
    array.flags.writeable = False
    own = copied({"a": array})["a"]
    assert not np.shares_memory(own, array)
    assert (own.flags.f_contiguous, own.flags.writeable) == (True, False)


def test_what_is_seen_read_only_has_containers_of_its_own_all_the_way_down() -> None:
    objects = np.empty(2, object)
    objects[0], objects[1] = fresh(), {"list": [1], "set": {1}}
    record = np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")])[0]
    element = {"objects": objects, "record": record, "counter": collections.Counter("a"), "masked": np.ma.array([1, 2])}
    seen = read_only(element)
    seen["objects"][1]["list"].append(2)
    seen["objects"][1]["set"].add(2)
    seen["counter"]["b"] = 1
    seen["masked"].mask = [True, False]
    assert element["objects"][1] == {"list": [1], "set": {1}}
    assert element["counter"] == {"a": 1}
    assert not np.ma.getmaskarray(element["masked"]).any()
    with pytest.raises(ValueError, match="read-only"):
        seen["objects"][0] = 1
    for array in (seen["objects"][0], np.asarray(seen["masked"])):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        seen["record"]["a"] = 5


def test_read_only_shows_the_same_values_and_takes_none() -> None:
    array = np.zeros(2)
    seen = read_only({"a": array})["a"]
    array[0] = 1
    assert seen[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 2
