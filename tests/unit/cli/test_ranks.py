"""``headrace ranks check``: what a person is told of a plan that is, or is not, the same on any number of ranks."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

import headrace as hr
from headrace.cli import main
from headrace.cli.ranks import command

PROGRAM = """
import itertools
import os

import numpy as np

import headrace as hr

calls = itertools.count()
data = hr.Dataset


def keep(x):
    return x % 5 != 4


def mixture():
    mixed = data.sample_from_datasets([data.range(400).filter(keep), data.range(400, 900)], [0.7, 0.3], seed=1)
    return mixed.repeat().shuffle(20).map(lambda x: {"x": x, "y": str(x)}).distributed_batch(12).prefetch(2)


def counting(x):
    return x + 1000 * next(calls)


def counted():
    return data.range(200).filter(keep).map(counting).shuffle(10).repeat().distributed_batch(12, num_streams=6)


def numbers():
    while True:
        yield next(calls)


def generated():
    return data.from_generator(numbers).distributed_batch(12)


def sharded():
    return data.range(200).shard(int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])).distributed_batch(12)


def arrays():
    return data.from_tensor_slices(np.arange(200) + int(os.environ["RANK"])).map(keep).distributed_batch(12)


kept = data.range(200).shuffle(200).distributed_batch(12)


def always_one():
    return kept


def uneven():
    return data.range(130).filter(keep).distributed_batch(12, end="uneven")


def together():
    return data.range(130).filter(keep).map(lambda x: {"x": x}).distributed_batch(12, end="pad", mask="is_real", group=True)


def padded():
    return data.range(130).distributed_batch(12, end="pad")


def fails_at(*wrong):
    def fail(x):
        if x in wrong:
            raise ValueError(f"no {x}")
        return x

    return data.range(100).map(fail).distributed_batch(12)


def fails_once():
    return fails_at(30)


def fails_always():
    return fails_at(*range(100))


def few():
    return data.range(5).distributed_batch(12, num_streams=1)


def plain():
    return data.range(10).batch(2)


def nothing():
    data.range(10)


def broken():
    raise KeyError("x")


a_number = 3
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ranks_program.py"
    path.write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "ranks_program", raising=False)
    return path


def check(capsys: pytest.CaptureFixture[str], function: str, *arguments: str) -> tuple[int, str, str]:
    status = main(["ranks", "check", f"ranks_program.py:{function}", *arguments])
    printed = capsys.readouterr()
    return status, " ".join(printed.out.split()), printed.err


@pytest.mark.parametrize("function", ["mixture", "always_one", "uneven", "together", "padded"])
def test_a_plan_that_is_dealt_well_is_said_to_be_the_same(
    function: str, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    status, out, _ = check(capsys, function, "--ranks", "6,4,1", "--steps", "15")
    assert status == 0
    assert "global batches of 12, dealt to 12 streams" in out
    assert out.endswith("the same on 6, 4 and 1 ranks")
    assert out.count("stopped after step") == 2
    assert not recwarn.list


def test_all_runs_of_the_same_plan_have_the_same_content(capsys: pytest.CaptureFixture[str]) -> None:
    main(["ranks", "check", "ranks_program:mixture", "--ranks", "3,2,1", "--steps", "9", "--seed", "4"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.split()[-3:-1] == ["9", "108"]]
    assert len(lines) == 5
    assert len({line[-1] for line in lines}) == 1


@pytest.mark.parametrize(
    ("function", "operation", "remedy"),
    [
        ("counted", "map 'counting' (ranks_program.py:22)", "random_map"),
        ("generated", "from_generator 'numbers' (ranks_program.py:30)", "seed"),
        ("arrays", "from_tensor_slices", "process"),
    ],
)
def test_the_first_operation_that_gives_other_elements_is_named(
    function: str, operation: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = check(capsys, function, "--ranks", "3,1", "--steps", "4")
    assert status == 1
    assert "1 rank: not the elements of 3 ranks in step 0" in out
    assert f"The first operation whose elements differ is {operation}." in out
    assert remedy in out


def test_one_number_of_ranks_is_compared_with_itself_stopped_and_restored(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = check(capsys, "counted", "--ranks", "2", "--steps", "4")
    assert status == 1
    assert "2, then 2 ranks, stopped after step" in out
    assert "map 'counting'" in out
    assert check(capsys, "mixture", "--ranks", "1", "--steps", "4")[1].endswith("the same on 1 rank")


def test_a_plan_that_asks_for_the_rank_is_told_with_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = check(capsys, "sharded", "--ranks", "2,1")
    assert status == 1
    assert "rank 1 of 2 has shard(num_shards=2, index=1) where rank 0 of 2 has shard(num_shards=2, index=0)" in out
    assert "RANK" not in os.environ


def test_an_element_that_fails_takes_no_other_batch_along(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = check(capsys, "fails_once", "--ranks", "4,1")
    assert status == 0
    assert "1 of 8 global batches had an element that failed" in out
    status, _, err = check(capsys, "fails_always", "--ranks", "4,1")
    assert status == 1
    assert "ValueError: no 0" in err


def test_numbers_of_ranks_are_chosen_where_none_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(capsys, "mixture", "--steps", "3")[1].endswith("the same on 12, 6, 4 and 1 ranks")


@pytest.mark.parametrize(
    ("function", "arguments", "status", "told"),
    [
        ("mixture", ["--ranks", "5"], 2, "5 does not divide the 12 streams: 1, 2, 3, 4, 6 or 12 would do"),
        ("counted", ["--ranks", "4,3"], 2, "num_streams=12 in distributed_batch would do for all of yours"),
        ("mixture", ["--ranks", "8,6"], 2, "num_streams=24, and a global batch that 24 divides, as 24"),
        ("mixture", ["--ranks", "0"], 2, "0 does not divide"),
        ("mixture", ["--ranks", "two"], 2, "numbers with commas between"),
        ("mixure", [], 2, "did you mean ranks_program.py:mixture?"),
        ("a_number", [], 2, "is no function, but an int"),
        ("plain", [], 2, "put distributed_batch(n) where batch(n) stands"),
        ("nothing", [], 2, "must return a headrace Dataset, but returned None"),
        ("broken", [], 1, "raised KeyError: 'x' (ranks_program.py:"),
    ],
)
def test_what_cannot_be_checked_is_told_with_the_way_out(
    function: str, arguments: list[str], status: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given, out, err = check(capsys, function, *arguments)
    assert given == status
    assert told in err
    assert not out or status == 1


def test_a_dataset_without_a_global_batch_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = check(capsys, "few")
    assert status == 1
    assert "no global batch to compare" in out


def test_a_module_that_is_missing_or_broken_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ranks_broken.py").write_text("import no_such_module_of_ranks\n")
    (tmp_path / "ranks_raising.py").write_text("1 / 0\n")
    for target, status, told in (
        ("no_such_program:f", 2, "there is no module 'no_such_program'"),
        ("missing.py:f", 2, "there is no file missing.py"),
        ("mixture", 2, "write MODULE:FUNCTION"),
        ("ranks_broken:f", 1, "importing ranks_broken raised ModuleNotFoundError"),
        (
            "ranks_raising.py:f",
            1,
            "importing ranks_raising.py raised ZeroDivisionError: division by zero (ranks_raising.py:1)",
        ),
    ):
        assert main(["ranks", "check", target]) == status
        assert told in capsys.readouterr().err


def test_ctrl_c_closes_every_rank(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    steps = itertools.count()
    pull = hr.DatasetIterator.__next__

    def interrupted(iterator: hr.DatasetIterator) -> object:
        if next(steps) == 20:
            raise KeyboardInterrupt
        return pull(iterator)

    monkeypatch.setattr(hr.DatasetIterator, "__next__", interrupted)
    status, _, err = check(capsys, "mixture", "--ranks", "6,1")
    assert status == 130
    assert "interrupted" in err


@pytest.mark.parametrize("columns", [80, 120])
def test_what_is_shown_fits_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for function in ("mixture", "counted"):
        main(["ranks", "check", f"ranks_program.py:{function}", "--ranks", "6,3,2,1", "--steps", "5"])
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= columns


def test_a_difference_that_comes_and_goes_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "culprit_of", lambda *_: None)
    assert "what differs comes and goes" in check(capsys, "counted", "--ranks", "2,1", "--steps", "2")[1]


DATASETS = """
import os

import headrace as hr

rows = hr.Dataset.range(300).filter(lambda x: x % 5 != 4).shuffle(20).repeat()
ds = rows.distributed_batch(12)
own = hr.Dataset.range(200 + int(os.environ.get("RANK", 0))).distributed_batch(12)
"""


def test_a_dataset_of_a_module_is_checked_as_what_a_function_returns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ranks_datasets.py").write_text(DATASETS)
    for name, status, told in (
        ("ds", 0, "the same on 4 and 1 ranks"),
        ("own", 1, "not the same on all ranks"),
        ("dss", 2, "did you mean ranks_datasets.py:ds?"),
    ):
        assert main(["ranks", "check", f"ranks_datasets.py:{name}", "--ranks", "4,1", "--steps", "8"]) == status
        printed = capsys.readouterr()
        assert told in " ".join((printed.out + printed.err).split())


def test_an_error_of_a_plan_names_the_line_that_wrote_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ranks_refused.py").write_text(
        "import headrace as hr\n\nds = hr.Dataset.range(9).filter(bool).take(3).distributed_batch(3)\n"
    )
    assert main(["ranks", "check", "ranks_refused.py:ds"]) == 1
    assert "(ranks_refused.py:3)" in capsys.readouterr().err
