"""Settings of a whole pipeline."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import headrace as hr
from headrace.errors import InvalidArgumentError


def test_nothing_is_set_at_first_and_nothing_can_be_set_later() -> None:
    options = hr.Options()
    assert all(getattr(options, field.name) is None for field in dataclasses.fields(options))
    with pytest.raises(AttributeError):
        options.seed = 3  # type: ignore[misc]  # what is tested
    with pytest.raises(TypeError):
        hr.Options(sead=3)  # type: ignore[call-arg]  # what is tested
    with pytest.raises(TypeError):
        hr.Options(True)  # type: ignore[call-arg]  # what is tested


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("deterministic", 1, TypeError),
        ("optimize", "no", TypeError),
        ("seed", 1.5, TypeError),
        ("seed", True, TypeError),
        ("num_workers", "2", TypeError),
        ("num_workers", 0, InvalidArgumentError),
        ("ram_budget", 0, InvalidArgumentError),
        ("ram_budget", -1, InvalidArgumentError),
        ("stall_warning_s", "30", TypeError),
        ("stall_warning_s", True, TypeError),
        ("stall_warning_s", -1, InvalidArgumentError),
        ("stall_warning_s", float("inf"), InvalidArgumentError),
        ("stall_warning_s", float("nan"), InvalidArgumentError),
        ("executor", 3, TypeError),
        ("executor", "threads", InvalidArgumentError),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(field: str, value: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=field):
        hr.Options(**{field: value})


def test_the_later_one_wins_where_it_says_something() -> None:
    merged = hr.Options(seed=1, deterministic=False).merged(hr.Options(seed=0, num_workers=3))
    assert merged == hr.Options(seed=0, deterministic=False, num_workers=3)
    assert hr.Options(seed=1).merged(hr.Options()) == hr.Options(seed=1)
