"""Small drawings for the pages on ideas: what an element is, and what a state counts."""

from __future__ import annotations

from docs.building.drawing import Drawing

__all__ = ["elements", "resume"]


def _grid(drawing: Drawing, x: float, y: float, rows: int, columns: int) -> None:
    for row in range(rows):
        for column in range(columns):
            drawing.lines.append(
                f'<rect class="d-block" x="{x + 20 * column:g}" y="{y + 20 * row:g}" width="20" height="20"/>'
            )


def _label(drawing: Drawing, x: float, y: float, words: str) -> None:
    drawing.box("d-channel", x, y, 44, 22)
    drawing.text(x + 22, y + 15, words, "d-code d-middle")


def elements() -> str:
    """Two elements, and the batch of them."""
    drawing = Drawing(470, 214)
    for number, word in enumerate(("cat", "dog")):
        y = 32 + 92 * number
        drawing.box("d-room", 10, y, 170, 80)
        drawing.text(22, y + 24, "image", "d-code")
        _grid(drawing, 86, y + 8, 2, 3)
        drawing.text(22, y + 68, "label", "d-code")
        _label(drawing, 86, y + 53, word)
    drawing.text(10, 22, "two elements", "d-bold")
    drawing.arrow((188, 118), (250, 118))
    drawing.text(219, 110, "batch(2)", "d-code d-middle")
    drawing.text(262, 22, "one element", "d-bold")
    drawing.box("d-room", 262, 32, 198, 172)
    drawing.text(274, 56, "image", "d-code")
    _grid(drawing, 368, 46, 2, 3)
    _grid(drawing, 352, 66, 2, 3)
    drawing.text(274, 124, "(2, 2, 3)", "d-small")
    drawing.text(274, 164, "label", "d-code")
    _label(drawing, 340, 148, "cat")
    _label(drawing, 386, 148, "dog")
    drawing.text(274, 190, "(2,)", "d-small")
    return drawing.svg()


def resume() -> str:
    """Batches that the loop got, batches that lie ready, and where the state points."""
    drawing = Drawing(470, 150)
    kinds = ["d-yours"] * 5 + ["d-channel"] * 3 + ["d-stage"] * 2
    for number, kind in enumerate(kinds):
        drawing.box(kind, 12 + 45 * number, 44, 38, 34)
        drawing.text(31 + 45 * number, 66, str(number), "d-middle")
    drawing.text(12, 30, "the loop got", "d-small")
    drawing.text(237, 30, "read ahead", "d-small")
    drawing.text(372, 30, "not read yet", "d-small")
    drawing.arrow((233, 122), (233, 84))
    drawing.text(233, 138, "state_dict(): batch 5 is the next one", "d-small d-middle")
    return drawing.svg()
