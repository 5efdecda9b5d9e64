"""One run of a dataset, as its user sees it."""

from headrace.iterator.dataset_iterator import DatasetIterator
from headrace.iterator.joint_end import joint_end_of
from headrace.iterator.numpy_iterator import NumpyIterator

__all__ = ["DatasetIterator", "NumpyIterator", "joint_end_of"]
