from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.demo.report_path import check_report_path
from headrace.errors import FailedPreconditionError


def test_asking_whether_a_file_can_be_written_leaves_nothing(tmp_path: Path) -> None:
    check_report_path(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_place_for_a_page(tmp_path: Path) -> None:
    with pytest.raises(FailedPreconditionError, match="is a folder"):
        check_report_path(tmp_path)


def test_a_file_is_no_folder_to_write_into(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    with pytest.raises(FailedPreconditionError, match="cannot write"):
        check_report_path(tmp_path / "notes" / "page.html")


def test_a_folder_that_is_missing_is_named_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(FailedPreconditionError, match=r"cannot write .*nowhere/page\.html: No such file"):
        check_report_path(tmp_path / "nowhere" / "page.html")
