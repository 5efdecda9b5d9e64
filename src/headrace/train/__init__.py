"""Training's input, TensorFlow's queue layer: coordination, input producers, readers, batches. ``hr.train``.

    file names --reader--> records --decode--> examples --batch--> batches
    a queue, filled by runners                a queue, filled by runners

and training jobs over any dataset: ``train_and_evaluate`` with ``TrainSpec``, ``EvalSpec``, hooks, checkpoints and exporters.

Everything is eager: an "enqueue op" is a callable, and what TensorFlow evaluates as a tensor is pulled from a callable
or a queue (``pulled.py``).
"""

from __future__ import annotations

from headrace.coordination import (
    QUEUE_RUNNERS,
    Coordinator,
    LooperThread,
    QueueRunner,
    add_queue_runner,
    get_collection,
    scope,
    start_queue_runners,
)
from headrace.train.batch import batch, batch_join, maybe_batch, maybe_batch_join
from headrace.train.batching import NextBatch
from headrace.train.epochs import limit_epochs
from headrace.train.exporters import BestExporter, Exporter, FinalExporter, LatestExporter
from headrace.train.hooks import EarlyStopping, Hook, TrainingRun
from headrace.train.input_producers import (
    input_producer,
    match_filenames_once,
    range_input_producer,
    string_input_producer,
)
from headrace.train.reader_base import ReaderBase
from headrace.train.readers import FixedLengthRecordReader, TextLineReader, TFRecordReader, WholeFileReader
from headrace.train.shuffle_batch import (
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    shuffle_batch,
    shuffle_batch_join,
)
from headrace.train.slices import Slices, slice_input_producer
from headrace.train.specs import EvalSpec, RunConfig, TrainSpec
from headrace.train.train_and_evaluate import train_and_evaluate
from headrace.train.trainers import JaxTrainer, TorchTrainer, Trainer

__all__ = [
    "QUEUE_RUNNERS",
    "BestExporter",
    "Coordinator",
    "EarlyStopping",
    "EvalSpec",
    "Exporter",
    "FinalExporter",
    "FixedLengthRecordReader",
    "Hook",
    "JaxTrainer",
    "LatestExporter",
    "LooperThread",
    "NextBatch",
    "QueueRunner",
    "ReaderBase",
    "RunConfig",
    "Slices",
    "TFRecordReader",
    "TextLineReader",
    "TorchTrainer",
    "TrainSpec",
    "Trainer",
    "TrainingRun",
    "WholeFileReader",
    "add_queue_runner",
    "batch",
    "batch_join",
    "get_collection",
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "range_input_producer",
    "scope",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "start_queue_runners",
    "string_input_producer",
    "train_and_evaluate",
]
