"""A dataset as it is shown: its plan and its elements, as far as they are known without running anything."""

from __future__ import annotations

import textwrap
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace.dataset import showing

data = hr.Dataset


def fails(*arguments: object) -> Any:
    raise AssertionError("the function was called")


def shown(dataset: hr.Dataset, monkeypatch: pytest.MonkeyPatch, width: int = 120) -> str:
    """The dataset's repr in a terminal so wide."""
    monkeypatch.setattr(showing, "screen_width", lambda: width)
    text = repr(dataset)
    assert max(map(len, text.splitlines())) <= width
    return text


def test_a_dataset_shows_its_count_its_elements_and_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = data.from_tensor_slices({"a": np.zeros((10, 3), np.float32), "b": np.arange(10)}).batch(4).prefetch(1)
    wide = """\
        <Dataset of 3 elements
          element_spec: {'a': TensorSpec(shape=(None, 3), dtype=float32), 'b': TensorSpec(shape=(None,), dtype=int64)}
          plan:
            prefetch [buffer_size=1]
              batch [batch_size=4, drop_remainder=False]
                from_tensor_slices [length=10, element={'a': TensorSpec(shape=(3,), dtype=float32), 'b': TensorS...]>"""
    assert shown(dataset, monkeypatch) == textwrap.dedent(wide)
    narrow = """\
        <Dataset of 3 elements
          element_spec of 2 components:
            ['a']: float32 (None, 3)
            ['b']: int64 (None,)
          plan:
            prefetch [buffer_size=1]
              batch [batch_size=4, drop_remain…
                from_tensor_slices [length=10,…>"""
    assert shown(dataset, monkeypatch, 40) == textwrap.dedent(narrow)


def test_nothing_runs_and_what_is_not_known_is_said_to_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = data.from_generator(fails).map(fails).filter(fails).batch(2)
    text = shown(dataset, monkeypatch)
    assert text.startswith("<Dataset of unknown cardinality\n  element_spec: not known before it runs")
    assert "map 'fails' (test_showing.py:" in text
    assert "not known before it runs" in dataset._repr_html_()
    assert shown(data.counter(), monkeypatch).startswith("<Dataset of infinite cardinality")
    assert shown(data.from_tensors(0), monkeypatch).startswith("<Dataset of 1 element\n")


def test_a_spec_that_an_operation_refuses_is_told_and_does_not_break_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(node: object) -> None:
        raise TypeError("datasets that differ,\nin two lines")

    dataset = data.range(3).batch(2)
    monkeypatch.setattr(type(dataset.__headrace_plan__()), "spec", refuse)
    monkeypatch.setattr(type(dataset.__headrace_plan__()), "parameters", refuse)
    text = shown(dataset, monkeypatch)
    assert "element_spec: TypeError: datasets that differ, in two lines" in text
    assert "batch, which cannot be shown: TypeError" in text
    assert "TypeError: datasets that differ" in dataset._repr_html_()


def deep(count: int) -> hr.Dataset:
    dataset = data.range(3)
    for _ in range(count):
        dataset = dataset.map(abs)
    return dataset


def test_of_a_long_plan_both_ends_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line.strip() for line in shown(deep(50), monkeypatch).splitlines()]
    assert lines[2:] == ["plan:", *["map 'abs'"] * 4, "… 43 more, see explain()", *["map 'abs'"] * 3, lines[-1]]
    assert lines[-1] == "range [start=0, stop=3, step=1, dtype=int64]>"
    assert len(shown(deep(8), monkeypatch).splitlines()) == len(lines)  # one line fewer would be saved


@pytest.mark.parametrize("count", [700, 5_000])
def test_a_plan_deeper_than_pythons_stack_is_shown(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    text = shown(deep(count), monkeypatch)
    assert f"… {count - 7:,} more" in text
    assert len(text.splitlines()) == 12
    assert f"… {count - 58:,} more" in deep(count)._repr_html_()


def test_datasets_that_are_read_together_stand_below_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    both = data.zip((data.range(3).take(2), data.range(4))).concatenate(data.zip((data.range(5), data.range(6))))
    plan = [line.split(" [")[0] for line in shown(both, monkeypatch).splitlines()[3:]]
    assert plan == [
        "    concatenate",
        "      zip",
        "        take",
        "          range",
        "        range",
        "      zip",
        "        range",
        "        range",
    ]


def test_what_is_left_out_pushes_nothing_out_of_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = data.zip((data.range(3).take(2), data.range(4).take(2)))
    for _ in range(20):
        dataset = dataset.map(fails)
    plan = [line.split(" (")[0].split(" [")[0] for line in shown(dataset, monkeypatch).splitlines()[3:]]
    assert plan[3:] == [
        "          map 'fails'",
        "            … 17 more, see explain()",
        "              take",
        "                range",
        "              take",
        "                range",
    ]


def test_a_name_is_no_command_for_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(hr.TextLineDataset("red\x1b[31m\n.txt").map(fails, name="two\nlines"), monkeypatch)
    assert "TextLineDataset [paths=red\\x1b[31m\\n.txt]" in text
    assert "map 'two\\nlines'" in text


def test_of_many_components_the_first_and_the_last_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = data.from_tensors(tuple(range(30)))
    lines = [line.strip() for line in shown(dataset, monkeypatch).splitlines()]
    assert lines[1:11] == [
        "element_spec of 30 components:",
        *(f"[{number}]: int64 ()" for number in range(4)),
        "… 22 more",
        *(f"[{number}]: int64 ()" for number in range(26, 30)),
    ]


@pytest.mark.parametrize(
    ("dataset", "described"),
    [
        (data.range(4).window(2), "DatasetSpec(TensorSpec(shape=(), dtype=int64))"),
        (data.from_generator(list, hr.TensorSpec(None, str)), "TensorSpec(shape=None, dtype=str)"),
        (data.from_tensor_slices([]), "TensorSpec(shape=(), dtype=float64)"),
    ],
)
def test_any_kind_of_element_is_described(monkeypatch: pytest.MonkeyPatch, dataset: hr.Dataset, described: str) -> None:
    assert f"  element_spec: {described}\n" in shown(dataset, monkeypatch)
    assert " ".join(described.split()) in " ".join(shown(dataset, monkeypatch, 40).split())


class Tags(HTMLParser):
    """What a piece of HTML says, and that each of its tags is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.said: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "p", "pre"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def test_a_notebook_shows_the_same_and_no_name_is_taken_for_markup() -> None:
    dataset = data.from_tensor_slices({"<script>": [1, 2], "b": ["x", "y"]}).shuffle(2, name="<b>")
    said = Tags(dataset._repr_html_()).said
    assert said[:8] == ["Dataset", " of 2 elements", "component", "dtype", "shape", "['<script>']", "int64", "()"]
    assert said[-1].startswith("shuffle '<b>' [buffer_size=2")
    assert len(Tags(data.from_tensors(tuple(range(500)))._repr_html_()).said) < 300
