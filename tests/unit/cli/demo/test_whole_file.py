from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.demo.whole_file import check_folder_takes_files, whole_file
from headrace.errors import FailedPreconditionError


def test_a_file_is_not_there_before_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    with whole_file(target) as file:
        file.write("half")
        file.flush()
        assert not target.exists()
    assert target.read_text() == "half"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError, SystemExit])
def test_whatever_stops_the_writing_leaves_what_was_there_before(tmp_path: Path, stop: type[BaseException]) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    with pytest.raises(stop), whole_file(target) as file:
        file.write("new")
        raise stop
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_that_is_missing_is_named_with_the_file(tmp_path: Path) -> None:
    target = tmp_path / "nowhere" / "page.html"
    with (
        pytest.raises(FailedPreconditionError, match=r"cannot write .*nowhere/page\.html: No such file"),
        whole_file(target),
    ):
        pass


def test_asking_whether_a_file_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    check_folder_takes_files(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_place_for_a_page(tmp_path: Path) -> None:
    with pytest.raises(FailedPreconditionError, match="is a folder"):
        check_folder_takes_files(tmp_path)


def test_a_file_is_no_folder_to_write_into(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    with pytest.raises(FailedPreconditionError, match="cannot write"):
        check_folder_takes_files(tmp_path / "notes" / "page.html")
