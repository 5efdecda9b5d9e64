"""Who runs what: the threads of one pipeline, what lies between them, and one block on its way. For users, and in more detail."""

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
    """TODO."""
    return for_users()
