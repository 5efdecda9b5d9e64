"""Who runs what: the threads of one pipeline, what lies between them, and one block on its way; for users, and in more detail."""

from __future__ import annotations

from docs.building.drawing import Drawing

__all__ = ["for_maintainers", "for_users"]


def for_users() -> str:
    """The pipeline of the start page, less its cache: ``shuffle``, a parallel ``map``, ``batch``, ``prefetch``."""
    drawing = Drawing(470, 502)
    drawing.box("d-room", 10, 10, 292, 342)
    drawing.text(24, 32, "driver", "d-bold")
    drawing.text(290, 32, "headrace-prefetch", "d-code d-end")
    stages = [
        ("from_tensor_slices", "indices  0 1 2 3 …"),
        ("shuffle", "indices  17 4 88 …"),
        ("map(load, AUTOTUNE)", "images, each in its batch"),
        ("batch(16)", "one batch"),
    ]
    for number, (name, block) in enumerate(stages):
        y = 46 + 78 * number
        drawing.box("d-stage", 24, y, 164, 30)
        drawing.text(34, y + 20, name, "d-code")
        drawing.arrow((60, y + 30), (60, y + (78 if number < len(stages) - 1 else 90)))
        drawing.box("d-block", 76, y + 42, 176, 22)
        drawing.text(86, y + 57, block, "d-small")
    # The workers, beside the map.
    drawing.box("d-room", 318, 116, 142, 186)
    drawing.text(330, 138, "workers", "d-bold")
    for number in range(2):
        y = 150 + 58 * number
        drawing.box("d-yours", 330, y, 118, 46)
        drawing.text(389, y + 19, "load(…)", "d-code d-middle")
        drawing.text(389, y + 37, f"headrace-worker-{number}", "d-small d-middle")
    drawing.text(330, 288, "one for each core", "d-small")
    drawing.arrow((188, 210), (318, 210))
    drawing.text(196, 206, "tasks", "d-small")
    drawing.arrow((318, 222), (188, 222))
    drawing.text(196, 235, "results, in order", "d-small")
    # The buffer, and the loop.
    drawing.box("d-channel", 24, 370, 278, 34)
    drawing.text(34, 392, "prefetch(1)", "d-code")
    drawing.text(292, 392, "room for one batch", "d-small d-end")
    drawing.box("d-room", 10, 418, 450, 74)
    drawing.text(448, 438, "your thread", "d-bold d-end")
    drawing.box("d-yours", 24, 432, 278, 48)
    drawing.arrow((60, 404), (60, 432))
    drawing.texts(34, 451, ["for images, labels in ds:", "    step(images, labels)"], "d-code", 18)
    for number, (kind, words) in enumerate(
        [("d-yours", "your functions"), ("d-block", "a block on its way"), ("d-channel", "a bounded buffer")]
    ):
        drawing.box(kind, 320, 330 + 22 * number, 16, 12)
        drawing.text(344, 341 + 22 * number, words, "d-small")
    return drawing.svg()


def for_maintainers() -> str:
    """The same with what a parallel stage does inside: the window in the input's order, the gate, the pool, the way back."""
    drawing = Drawing(680, 640)
    drawing.box("d-room", 10, 10, 430, 446)
    drawing.text(24, 32, "driver: runs every stage", "d-bold")
    drawing.text(428, 32, "headrace-prefetch", "d-code d-end")
    _pulls(drawing)
    _window(drawing)
    _pool(drawing)
    _delivery(drawing)
    return drawing.svg()


def _pulls(drawing: Drawing) -> None:
    """The stages, what is asked of each from below, and what comes down."""
    for name, y, block in (("IndexedStage", 46, "indices 0 1 2 …"), ("ShuffleStage", 116, "indices 17 4 88 …")):
        drawing.box("d-stage", 70, y, 170, 30)
        drawing.text(80, y + 20, name, "d-code")
        drawing.box("d-block", 122, y + 39, 118, 22)
        drawing.text(130, y + 54, block, "d-small")
        drawing.arrow((100, y + 30), (100, y + 70))
        drawing.arrow((84, y + 70), (84, y + 30))
    drawing.box("d-stage", 70, 408, 170, 30)
    drawing.text(80, 428, "BatchStage", "d-code")
    drawing.arrow((100, 374), (100, 408))
    drawing.arrow((84, 408), (84, 374))
    drawing.text(254, 66, "pull(limit) goes up,", "d-small")
    drawing.text(254, 82, "a block, a failure or the end", "d-small")
    drawing.text(254, 98, "comes down", "d-small")


def _window(drawing: Drawing) -> None:
    """The inside of the parallel stage."""
    drawing.box("d-stage", 24, 186, 402, 188)
    drawing.text(36, 206, "ParallelStage", "d-code")
    drawing.text(414, 206, "waits for its own tasks alone", "d-small d-end")
    for number, (state, kind) in enumerate(
        [("done", "d-channel"), ("runs", "d-yours"), ("done", "d-channel"), ("ready", "d-stage")]
    ):
        x = 36 + 66 * number
        drawing.box(kind, x, 220, 58, 40)
        drawing.text(x + 29, 237, f"task {number + 7}", "d-middle")
        drawing.text(x + 29, 253, state, "d-small d-middle")
    drawing.text(36, 278, "window: two tasks a call, in the input’s order", "d-small")
    drawing.box("d-channel", 36, 322, 258, 38)
    drawing.text(46, 339, "done: Channel", "d-code")
    drawing.text(46, 354, "room for each task: no worker waits", "d-small")
    drawing.text(36, 308, "handed on: task 7; task 9 waits for task 8", "d-small")
    drawing.box("d-stage", 318, 222, 96, 36)
    drawing.text(366, 238, "Gate", "d-code d-middle")
    drawing.text(366, 252, "2 calls at once", "d-small d-middle")
    drawing.arrow((292, 240), (318, 240))


def _pool(drawing: Drawing) -> None:
    """The workers, which all stages of a run share."""
    drawing.box("d-room", 470, 186, 200, 188)
    drawing.text(482, 206, "WorkerPool", "d-code")
    drawing.text(482, 222, "of the whole run", "d-small")
    for number in range(2):
        y = 232 + 52 * number
        drawing.box("d-yours", 482, y, 176, 42)
        drawing.text(570, y + 18, "load(…), then its row", "d-middle")
        drawing.text(570, y + 34, f"headrace-worker-{number}", "d-small d-middle")
    drawing.text(482, 354, "writes into BatchMemory", "d-small")
    drawing.arrow((414, 240), (482, 240))
    drawing.arrow((470, 341), (294, 341))


def _delivery(drawing: Drawing) -> None:
    """From the driver to the caller, and what holds for all of it."""
    drawing.arrow((100, 438), (100, 476))
    drawing.box("d-channel", 24, 476, 402, 40)
    drawing.text(36, 493, "PrefetchStage: Channel", "d-code")
    drawing.text(36, 508, "bounded in elements and in bytes", "d-small")
    drawing.box("d-room", 10, 534, 430, 96)
    drawing.text(428, 556, "your thread", "d-bold d-end")
    drawing.arrow((100, 516), (100, 566))
    drawing.box("d-stage", 24, 566, 402, 52)
    drawing.text(36, 584, "DatasetIterator", "d-code")
    drawing.text(36, 600, "gives the block’s elements one by one;", "d-small")
    drawing.text(36, 613, "state_dict() is the block’s cursor, advanced by what was given", "d-small")
    drawing.box("d-block", 470, 34, 200, 126)
    drawing.text(482, 54, "a block", "d-bold")
    drawing.texts(
        482,
        74,
        [
            "payload: indices into a source,",
            "    columns, or rows",
            "cursor: the position before its",
            "    first element",
        ],
    )
    drawing.text(482, 138, "origins: index, or file and row", "d-small")
    drawing.box("d-stage", 470, 408, 200, 108)
    drawing.text(482, 428, "Budget", "d-code")
    drawing.texts(
        482,
        446,
        [
            "one ledger of bytes a run:",
            "first what must be held,",
            "then windows and channels,",
            "each an equal part of the rest",
        ],
    )
    drawing.text(470, 560, "stop() ends every wait;", "d-small")
    drawing.text(470, 576, "then threads are joined,", "d-small")
    drawing.text(470, 592, "then close() gives back files", "d-small")
