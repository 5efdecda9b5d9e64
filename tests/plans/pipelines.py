"""Whole pipelines as users write them; ``test_explain.py`` holds how each is explained."""

from __future__ import annotations

import numpy as np

import headrace as hr

data = hr.Dataset


def read(path: str) -> np.ndarray:
    return np.zeros(3)


def decode(record: str) -> tuple[np.ndarray, int]:
    return np.zeros(3), 0


def augment(features: np.ndarray, label: int) -> tuple[np.ndarray, int]:
    return features, label


def is_good(features: np.ndarray, label: int) -> bool:
    return True


def numbers_below(stop: int) -> hr.Dataset:
    return data.range(stop)


def images_in_files() -> hr.Dataset:
    files = data.from_tensor_slices((["a.wav", "b.wav"], [0, 1]))
    return files.shuffle(2, seed=0).map(augment, num_parallel_calls=hr.AUTOTUNE).batch(128).prefetch(1)


def training_on_csv() -> hr.Dataset:
    files = data.from_tensor_slices(["0.csv", "1.csv"]).shuffle(2, seed=1)
    rows = files.interleave(hr.TextLineDataset, cycle_length=2, num_parallel_calls=2)
    decoded = rows.map(decode, num_parallel_calls=4, name="parse").shuffle(1000, seed=2)
    return decoded.map(augment, num_parallel_calls=4).batch(23).repeat(2)


def evaluation() -> hr.Dataset:
    rows = hr.CsvDataset(["a.csv", "b.csv"], [1, 0.5], header=True, select_cols=[0, 2])
    return rows.take(100).batch(10, drop_remainder=True).cache()


def two_sources() -> hr.Dataset:
    left = data.from_generator(lambda: iter(()), hr.TensorSpec((), int)).enumerate(start=1).skip(2)
    right = data.random(seed=3).shard(4, 1).filter(bool).flat_map(numbers_below)
    both = data.zip({"left": left, "right": right})
    return both.concatenate(both).with_options(hr.Options(seed=1, num_workers=2))


def one_array() -> hr.Dataset:
    return data.from_tensor_slices(np.zeros((4, 3), np.float32)).shuffle(4, reshuffle_each_iteration=False).batch(2)


PIPELINES = {build.__name__: build for build in (images_in_files, training_on_csv, evaluation, two_sources, one_array)}
