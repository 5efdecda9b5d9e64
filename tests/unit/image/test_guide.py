"""The programs in the guide's pages on images and sound run, from real files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

simplejpeg = pytest.importorskip("simplejpeg")
soundfile = pytest.importorskip("soundfile")
pytest.importorskip("cv2")
pytest.importorskip("soxr")

GUIDE = Path(__file__).parents[3] / "docs" / "guide"


def run_page(name: str, given: dict[str, Any]) -> dict[str, Any]:
    blocks = re.findall(r"^```python\n(.*?)^```", (GUIDE / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 2
    exec("\n".join(blocks), given)
    return given


def test_the_page_on_images_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    pixels = np.random.default_rng(0).integers(0, 256, (375, 500, 3), dtype=np.uint8)
    Path("photo.jpg").write_bytes(simplejpeg.encode_jpeg(pixels))
    names = run_page("images.md", {"files": ["photo.jpg"] * 64, "labels": np.arange(64)})
    assert capsys.readouterr().out == "(375, 500, 3) uint8\n(64, 227, 227, 3)\n"
    cropped, label = names["augment"](np.random.default_rng(0), pixels, 3)
    assert (cropped.shape, label) == ((200, 200, 3), 3)


def test_the_page_on_sound_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    sound = np.random.default_rng(0).uniform(-1, 1, (16_000, 1))
    Path("speech.wav").write_bytes(hr.audio.encode_wav(sound, 16_000))
    soundfile.write("speech.flac", sound, 16_000)
    names = run_page("audio.md", {"files": ["speech.wav"] * 130})
    assert capsys.readouterr().out == "(16000, 1) float32 16000\n(128, 16000)\n"
    assert names["samples"].shape == (8_000, 1)
