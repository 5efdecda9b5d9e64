from __future__ import annotations

from headrace.io.stream_reader import DEFAULT_BUFFER_BYTES
from headrace.io.tfrecord.format import TFRecordFiles


def test_files_that_are_read_in_turns_have_shorter_buffers_together_no_more_than_a_few_alone() -> None:
    records = TFRecordFiles()
    assert records.side_by_side(1) is records
    for files in (64, 100, 128):
        nbytes = records.side_by_side(files).buffer_size
        assert nbytes is not None
        assert nbytes < DEFAULT_BUFFER_BYTES
        assert nbytes * files <= 32 << 20
    assert records.side_by_side(10_000).buffer_size == 1 << 18


def test_a_buffer_of_the_users_size_stays_one() -> None:
    records = TFRecordFiles(buffer_size=10 << 20)
    assert records.side_by_side(64) is records
