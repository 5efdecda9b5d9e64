"""What is said of a name that is not there: the near one, or what another library's name is called here.

What always holds: a name that begins with an underscore is refused without a look at anything, because pickle, copy and
notebooks ask for such names of every object; and for any other the message is made when somebody reads it, because
``hasattr`` never does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

__all__ = ["FOR_DATASETS", "FOR_THE_PACKAGE", "unknown_attribute"]

# Two names of which 0.7 of the letters agree are one mistyped: "tke" and "take", but not "sort" and "shard".
_NEAR: Final = 0.7

# Names that other libraries have, and what is written here in their place (docs/guide/names.md has the whole table).
FOR_DATASETS: Final[Mapping[str, str]] = {
    # tf.data, also of earlier versions
    "as_numpy": "ds.as_numpy_iterator()",
    "at": "ds[index]",
    "copy_to_device": "ds.to_torch(), ds.to_jax() or ds.to_tensorflow()",
    "dense_to_ragged_batch": "ds.ragged_batch(batch_size)",
    "filter_with_legacy_function": "ds.filter(predicate)",
    "make_initializable_iterator": "iter(ds)",
    "make_one_shot_iterator": "iter(ds)",
    "map_and_batch": "ds.map(function, num_parallel_calls=n).batch(batch_size)",
    "map_with_legacy_function": "ds.map(function)",
    "output_classes": "ds.element_spec",
    "output_shapes": "ds.element_spec",
    "output_types": "ds.element_spec",
    "parallel_interleave": "ds.interleave(function, num_parallel_calls=n)",
    "parse_example_dataset": "ds.map(hr.io.parse_example)",
    "prefetch_to_device": "ds.to_torch(), ds.to_jax() or ds.to_tensorflow()",
    "shuffle_and_repeat": "ds.shuffle(buffer_size).repeat(count)",
    # torch, torchdata, WebDataset
    "collate": "ds.batch(batch_size).map(function)",
    "cycle": "ds.repeat(count)",
    "header": "ds.take(count)",
    "in_memory_cache": "ds.cache()",
    "map_dict": "ds.map(function)",
    "map_tuple": "ds.map(function)",
    "mux": "hr.Dataset.choose_from_datasets(datasets, choice_dataset)",
    "pin_memory": "ds.to_torch()",
    "random_split": "ds.take(count) and ds.skip(count)",
    "sample_multiplex": "hr.Dataset.sample_from_datasets(datasets, weights)",
    "set_epoch": "iter(ds), which begins another epoch each time",
    "sharding_filter": "ds.shard(num_shards, index)",
    "with_epoch": "ds.repeat().take(count)",
    "with_length": "ds.assert_cardinality(count)",
    # Grain
    "batch_and_pad": "ds.padded_batch(batch_size)",
    "map_with_index": "ds.enumerate().map(function)",
    "mix": "hr.Dataset.sample_from_datasets(datasets, weights)",
    "mp_prefetch": "ds.map(function, num_parallel_calls=n)",
    "pipe": "ds.apply(function)",
    "seed": "ds.with_options(hr.Options(seed=n))",
    "select_from_datasets": "hr.Dataset.choose_from_datasets(datasets, choice_dataset)",
    "slice": "ds.skip(start).take(count)",
    "to_iter_dataset": "iter(ds)",
    # what one tries of an array, a table or a list
    "chain": "ds.concatenate(other)",
    "count": "ds.cardinality(), or len(ds)",
    "dtype": "ds.element_spec",
    "from_dict": "hr.Dataset.from_tensor_slices(arrays)",
    "from_iterable": "hr.Dataset.from_generator(function)",
    "from_list": "hr.Dataset.from_tensor_slices(values)",
    "head": "ds.take(count)",
    "limit": "ds.take(count)",
    "shape": "ds.element_spec",
    "size": "ds.cardinality(), or len(ds)",
    "to_list": "list(ds)",
}

FOR_THE_PACKAGE: Final[Mapping[str, str]] = {
    # tf.data
    "Iterator": "hr.DatasetIterator",
    "data": "hr.Dataset, with nothing between",
    "experimental": "hr.Dataset, whose ordinary methods they are",
    "make_csv_dataset": "hr.CsvDataset(filenames, record_defaults).shuffle(buffer_size).batch(batch_size)",
    "testing": "import headrace.testing",
    # torch, torchdata, WebDataset
    "ChainDataset": "ds.concatenate(other)",
    "ConcatDataset": "ds.concatenate(other)",
    "DataLoader": "hr.Dataset.source(dataset).shuffle(buffer_size).batch(batch_size).to_torch()",
    "DistributedSampler": "ds.shard(num_shards, index)",
    "IterableDataset": "hr.Dataset.from_generator(function)",
    "RandomSampler": "ds.shuffle(buffer_size)",
    "StackDataset": "hr.Dataset.zip(datasets)",
    "StatefulDataLoader": "iter(ds), which has state_dict and load_state_dict",
    "Subset": "ds.take(count), ds.skip(count) or ds.filter(predicate)",
    "TensorDataset": "hr.Dataset.from_tensor_slices(arrays)",
    "WebDataset": "hr.TarDataset(filenames)",
    "random_split": "ds.take(count) and ds.skip(count)",
    # Grain
    "ArrayRecordDataSource": "hr.TFRecordDataset(filenames, random_access=True)",
    "IterDataset": "hr.Dataset.from_generator(function)",
    "MapDataset": "hr.Dataset.source(sequence)",
    "ReadOptions": "hr.Options(num_workers=n)",
}


class _Message:
    """The text of an error, made when it is read."""

    def __init__(
        self, begins: str, name: str, known: Callable[[], Mapping[str, str]], others: Mapping[str, str]
    ) -> None:
        self._begins = begins
        self._name = name
        self._known = known
        self._others = others

    def __str__(self) -> str:
        if self._name in self._others:
            return f"{self._begins}. Here it is written: {self._others[self._name]}"
        near = _nearest(self._name, self._known())
        return self._begins if near is None else f"{self._begins}. Did you mean: {near!r}?"

    def __repr__(self) -> str:
        return repr(str(self))

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def unknown_attribute(
    owner: str, name: str, known: Callable[[], Mapping[str, str]], others: Mapping[str, str]
) -> AttributeError:
    """Makes the error for a name that an object has not.

    Args:
        owner: the object, as Python's own messages call it: ``'Dataset' object``.
        name: what was asked for.
        known: returns the names that may have been meant, and what is written for each; called when the message is read.
        others: other libraries' names, and what is written here in their place.
    """
    begins = f"{owner} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(begins)
    # Without the object, of which Python's traceback would name a near attribute once more.
    return AttributeError(_Message(begins, name, known, others), name=name, obj=None)


def _nearest(name: str, known: Mapping[str, str]) -> str | None:
    """Returns what is written for the known name that is most like this one, and is like enough."""
    import difflib

    lowered = {other.lower(): written for other, written in known.items()}
    found = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=_NEAR)
    return lowered[found[0]] if found else None
