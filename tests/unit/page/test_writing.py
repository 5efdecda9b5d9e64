from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import FailedPreconditionError
from headrace.page.writing import check_can_be_written


def test_asking_whether_a_file_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    check_can_be_written(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_place_for_a_page(tmp_path: Path) -> None:
    with pytest.raises(FailedPreconditionError, match="is a folder"):
        check_can_be_written(tmp_path)


def test_a_file_is_no_folder_to_write_into(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    with pytest.raises(FailedPreconditionError, match="cannot write"):
        check_can_be_written(tmp_path / "notes" / "page.html")


def test_a_folder_that_is_missing_is_named_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(FailedPreconditionError, match=r"cannot write .*nowhere/page\.html: No such file"):
        check_can_be_written(tmp_path / "nowhere" / "page.html")
