"""Whole pipelines as tutorials and training jobs have them: several operations, the last of them `prefetch`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import numpy as np

from idioms.case import SAME, Case
from idioms.cases.file_data import examples, records_of
from idioms.loaders import mapped, streamed
from idioms.plain import chunks, column, dicts_stacked, slices, tuples_stacked
from idioms.sameness import in_any_order


def _sentences(units: int, folder: Path) -> list[str]:
    return [f"sentence {index} of a corpus that is read as a stream" for index in range(units)]


def _sentence_pairs(units: int, folder: Path) -> tuple[list[str], list[str]]:
    sentences = _sentences(units, folder)
    return sentences, [text.upper() for text in sentences]


def _pictures(units: int, folder: Path) -> tuple[Any, Any]:
    return np.ones((units, 16, 16), np.float32), np.eye(10, dtype=np.float32)[np.arange(units) % 10]


def _frame(units: int, folder: Path) -> tuple[dict[str, Any], Any]:
    columns = {name: np.arange(units, dtype=np.float32) for name in ("age", "height", "weight", "pulse", "score")}
    return {**columns, "kind": np.array(["cat", "dog"])[np.arange(units) % 2]}, np.arange(units) % 2


def _series(units: int, folder: Path) -> Any:
    return np.arange(units + 30, dtype=np.float32)


def _ids(text: str) -> Any:
    return np.frombuffer(text.encode(), np.uint8)


def _many_ids(texts: Any) -> Any:
    made = np.zeros((len(texts), 64), np.uint8)
    for row, text in zip(made, texts, strict=True):
        ids = _ids(text)
        row[: len(ids)] = ids
    return made


def _shifted(sequence: Any) -> tuple[Any, Any]:
    return sequence[:-1], sequence[1:]


# --- language models ---------------------------------------------------------------------------------------------


def _token_stream(hr: Any, sentences: list[str]) -> Any:
    return (
        hr.Dataset.from_generator(lambda: ({"text": text} for text in sentences))
        .map(lambda row: _ids(row["text"]))
        .unbatch()
        .batch(129, drop_remainder=True)
        .map(_shifted)
        .batch(8)
        .prefetch(hr.AUTOTUNE)
    )


def _token_stream_in_tf(tf: Any, sentences: list[str]) -> Any:
    return (
        tf.data.Dataset.from_generator(
            lambda: ({"text": text} for text in sentences), output_signature={"text": tf.TensorSpec((), tf.string)}
        )
        .map(lambda row: tf.io.decode_raw(row["text"], tf.uint8))
        .unbatch()
        .batch(129, drop_remainder=True)
        .map(_shifted)
        .batch(8)
        .prefetch(tf.data.AUTOTUNE)
    )


def _sequences(sentences: list[str]) -> Iterator[Any]:
    buffer: list[int] = []
    for text in sentences:
        buffer.extend(_ids(text).tolist())
        while len(buffer) >= 129:
            yield _shifted(np.array(buffer[:129], np.uint8))
            del buffer[:129]


def _batched_tokens(hr: Any, sentences: list[str]) -> Any:
    texts = hr.Dataset.from_tensor_slices(sentences)
    return texts.batch(1000).map(_many_ids, num_parallel_calls=hr.AUTOTUNE).unbatch().batch(32).prefetch(hr.AUTOTUNE)


def _batched_tokens_by_hand(sentences: list[str]) -> Iterator[Any]:
    return map(column, chunks((row for texts in chunks(sentences, 1000) for row in _many_ids(texts)), 32))


def _translation(hr: Any, pairs: Any) -> Any:
    return (
        hr.Dataset.from_tensor_slices(pairs)
        .batch(64)
        .map(
            lambda source, target: (
                {"encoder": _many_ids(source), "decoder": _many_ids(target)[:, :-1]},
                _many_ids(target)[:, 1:],
            ),
            num_parallel_calls=hr.AUTOTUNE,
        )
        .prefetch(16)
    )


def _translation_by_hand(pairs: Any) -> Iterator[Any]:
    for source, target in zip(chunks(pairs[0], 64), chunks(pairs[1], 64), strict=True):
        encoder, decoder = _many_ids(source), _many_ids(target)
        yield {"encoder": encoder, "decoder": decoder[:, :-1]}, decoder[:, 1:]


# --- tables, pictures, series ---------------------------------------------------------------------------------------


def _mixed_up(hr: Any, data: Any) -> Any:
    one, other = (hr.Dataset.from_tensor_slices(data).shuffle(1024).batch(64) for _ in range(2))

    def mixed(first: Any, second: Any) -> Any:
        return first[0] * 0.7 + second[0] * 0.3, first[1] * 0.5 + second[1] * 0.5

    return hr.Dataset.zip((one, other)).map(mixed, num_parallel_calls=hr.AUTOTUNE).prefetch(hr.AUTOTUNE)


def _mixed_up_by_hand(data: Any) -> Iterator[Any]:
    images, labels = data
    rng = np.random.default_rng(0)
    orders = (slices(rng.permutation(len(labels)), 64) for _ in range(2))
    for one, other in zip(*orders, strict=True):
        yield images[one] * 0.7 + images[other] * 0.3, labels[one] * 0.5 + labels[other] * 0.5


def _same_sizes(found: Any, expected: Any) -> None:
    """Batches of the same sizes: which pictures are mixed is chance."""
    in_any_order([batch[0][:, 0, 0] for batch in found], [batch[0][:, 0, 0] for batch in expected])


def _frame_rows(data: Any, size: int) -> Iterator[Any]:
    features, labels = data
    for chosen in slices(np.random.default_rng(0).permutation(len(labels)), size):
        yield {name: values[chosen] for name, values in features.items()}, labels[chosen]


def _indexed_windows(hr: Any, series: Any) -> Any:
    return (
        hr.Dataset.range(len(series) - 30)
        .map(lambda start: (series[start : start + 30], series[start + 30]), num_parallel_calls=hr.AUTOTUNE)
        .batch(32)
        .prefetch(hr.AUTOTUNE)
    )


def _indexed_windows_in_tf(tf: Any, series: Any) -> Any:
    values = tf.constant(series)
    return (
        tf.data.Dataset.range(len(series) - 30)
        .map(lambda start: (values[start : start + 30], values[start + 30]), num_parallel_calls=tf.data.AUTOTUNE)
        .batch(32)
        .prefetch(tf.data.AUTOTUNE)
    )


def _window(series: Any, start: int) -> tuple[Any, Any]:
    return series[start : start + 30], series[start + 30]


def _lengths(hr: Any, paths: list[str]) -> Any:
    return hr.TFRecordDataset(paths).map(len).shuffle(2560).repeat(2).batch(256).prefetch(256)


def _shuffled_lengths(paths: list[str]) -> list[int]:
    lengths = [len(record) for path in paths for record in records_of(path)]
    random.Random(0).shuffle(lengths)
    return lengths


def _lengths_by_hand(paths: list[str]) -> Iterator[Any]:
    """Of two epochs, each of which reads the files."""
    return map(column, chunks(chain.from_iterable(_shuffled_lengths(paths) for _ in range(2)), 256))


CASES: Final = (
    Case(
        name="program_token_stream",
        written="from_generator({text}).map(ids).unbatch().batch(129, drop_remainder=True).map((s[:-1], s[1:])).batch(8).prefetch(AUTOTUNE)",
        ours=_token_stream,
        plain=lambda sentences: tuples_stacked(_sequences(sentences), 8),
        tfdata=_token_stream_in_tf,
        torch=lambda torch, sentences: streamed(torch, lambda: _sequences(sentences), batch_size=8),
        data=_sentences,
    ),
    Case(
        name="program_batched_tokens",
        written="from_tensor_slices(texts).batch(1000).map(ids of all, AUTOTUNE).unbatch().batch(32).prefetch(AUTOTUNE)",
        ours=_batched_tokens,
        plain=_batched_tokens_by_hand,
        torch=lambda torch, sentences: mapped(
            torch, len(sentences), lambda index: _many_ids(sentences[index : index + 1])[0], batch_size=32
        ),
        data=_sentences,
    ),
    Case(
        name="program_translation",
        written="from_tensor_slices((source, target)).batch(64).map(({encoder, decoder}, target), AUTOTUNE).prefetch(16)",
        ours=_translation,
        plain=_translation_by_hand,
        data=_sentence_pairs,
    ),
    Case(
        name="program_mixup",
        written="zip((a.shuffle(1024).batch(64), b.shuffle(1024).batch(64))).map(mixed, AUTOTUNE).prefetch(AUTOTUNE)",
        ours=_mixed_up,
        plain=_mixed_up_by_hand,
        tfdata=SAME,
        data=_pictures,
        same=_same_sizes,
        full=50_000,
    ),
    Case(
        name="program_table",
        written="from_tensor_slices(({six columns}, labels)).shuffle(n).batch(32).prefetch(32)",
        ours=lambda hr, data: hr.Dataset.from_tensor_slices(data).shuffle(len(data[1])).batch(32).prefetch(32),
        plain=lambda data: _frame_rows(data, 32),
        tfdata=SAME,
        data=_frame,
        same=in_any_order,
    ),
    Case(
        name="program_split",
        written='from_tensor_slices({"x", "y"}).enumerate().filter(i % 10 > 0).map(row).batch(32).prefetch(AUTOTUNE)',
        ours=lambda hr, data: (
            hr.Dataset.from_tensor_slices({"x": data[0], "y": data[1]})
            .enumerate()
            .filter(lambda index, row: index % 10 > 0)
            .map(lambda index, row: row)
            .batch(32)
            .prefetch(hr.AUTOTUNE)
        ),
        plain=lambda data: dicts_stacked(
            ({"x": x, "y": y} for index, (x, y) in enumerate(zip(*data, strict=True)) if index % 10 > 0), 32
        ),
        tfdata=SAME,
        data=_pictures,
        full=50_000,
    ),
    Case(
        name="program_series",
        written="range(n).map((series[i:i + 30], series[i + 30]), AUTOTUNE).batch(32).prefetch(AUTOTUNE)",
        ours=_indexed_windows,
        plain=lambda series: tuples_stacked((_window(series, start) for start in range(len(series) - 30)), 32),
        tfdata=_indexed_windows_in_tf,
        torch=lambda torch, series: mapped(
            torch, len(series) - 30, lambda start: _window(series, start), batch_size=32
        ),
        data=_series,
    ),
    Case(
        name="program_records",
        written="TFRecordDataset(files).map(len).shuffle(2560).repeat(2).batch(256).prefetch(256)",
        ours=_lengths,
        plain=_lengths_by_hand,
        tfdata=lambda tf, paths: (
            tf.data.TFRecordDataset(paths).map(tf.strings.length).shuffle(2560).repeat(2).batch(256).prefetch(256)
        ),
        data=examples,
        same=in_any_order,
        full=20_000,
        note="the plain loop compares no checksums",
    ),
)
