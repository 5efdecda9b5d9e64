"""The classifier of sounds in examples/: what its command prints, draws, refuses, and that a killed job goes on."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import headrace as hr

torch = pytest.importorskip("torch")

from examples.wav_classifier.__main__ import main  # noqa: E402 - it needs PyTorch, as the line above has seen
from examples.wav_classifier.input_fns import Sounds, improved_form  # noqa: E402
from examples.wav_classifier.job import invoke  # noqa: E402
from examples.wav_classifier.recordings import recordings_in  # noqa: E402
from examples.wav_classifier.sounds import KINDS, make_sounds  # noqa: E402

ROOT = Path(__file__).parents[2]
SMALL = ["--each", "10", "--steps", "3", "--batch-size", "8", "--seconds", "0.5"]
ROW = re.compile(r" (first|improved) +([12]) +(\d+) +[\d,]+ ms +[\d.]+ ms +(\d+)% +[\d.]+ s +\d+% *")


@pytest.fixture(autouse=True)
def as_many_threads_afterwards() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture(name="sounds", scope="module")
def _sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sounds(tmp_path_factory.mktemp("made"), each=10)


@pytest.fixture(name="mine")
def _mine(sounds: Path, tmp_path: Path) -> Path:
    """A folder of the user's own, to spoil."""
    return Path(shutil.copytree(sounds, tmp_path / "mine"))


def files_read(printed: str) -> list[tuple[str, str, int]]:
    found = [ROW.fullmatch(line) for line in printed.splitlines()]
    return [(match[1], match[2], int(match[3])) for match in found if match]


def test_both_forms_end_with_the_same_weights_and_the_improved_one_reads_each_file_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, "--data", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "32 sounds to learn from and 8 to be judged on, 0.5 s each: bell, motor, rain, siren." in printed
    *first, filled, found = files_read(printed)
    assert [(form, number, read >= 3 * 8) for form, number, read in first] == [
        ("first", "1", True),
        ("first", "2", True),
    ]
    assert [filled, found] == [("improved", "1", 32), ("improved", "2", 0)]
    assert "Both ended with the same weights, to the last bit." in printed
    assert (tmp_path / "waiting.png").read_bytes().startswith(b"\x89PNG")

    assert main([*SMALL, "--data", str(tmp_path)]) == 0
    assert files_read(capsys.readouterr().out)[2:] == [("improved", "1", 0), ("improved", "2", 0)]


def test_a_file_that_has_changed_is_read_again(mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(mine), *SMALL, "--invocations", "1", "--data", str(tmp_path / "data")]
    assert main(words) == 0
    first = capsys.readouterr().out
    (mine / "bell" / "bell-0003.wav").write_bytes(hr.audio.encode_wav(np.zeros((16_000, 1)), 16_000))
    assert main(words) == 0
    second = capsys.readouterr().out
    assert files_read(first)[1] == files_read(second)[1] == ("improved", "1", 32)


def test_the_sounds_are_files_that_any_program_reads_and_the_same_everywhere(sounds: Path, tmp_path: Path) -> None:
    import wave

    with wave.open(str(sounds / "siren" / "siren-0009.wav")) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate(), file.getnframes()) == (
            1,
            2,
            16_000,
            32_000,
        )
    again = make_sounds(tmp_path, each=2)
    for kind in KINDS:
        assert (again / kind / f"{kind}-0001.wav").read_bytes() == (sounds / kind / f"{kind}-0001.wav").read_bytes()


def test_sounds_that_are_there_are_not_made_again(sounds: Path) -> None:
    made_ns = {path: path.stat().st_mtime_ns for path in sounds.rglob("*.wav")}
    assert make_sounds(sounds.parent, each=10) == sounds
    assert {path: path.stat().st_mtime_ns for path in sounds.rglob("*.wav")} == made_ns


# ------------------------------------------------------------------------------ mistakes


def only_one_kind(mine: Path) -> None:
    for kind in ("motor", "rain", "siren"):
        shutil.rmtree(mine / kind)


def a_kind_with_one_file(mine: Path) -> None:
    for path in sorted((mine / "rain").iterdir())[1:]:
        path.unlink()


def one_that_was_cut_off(mine: Path) -> None:
    path = mine / "rain" / "rain-0004.wav"
    path.write_bytes(path.read_bytes()[:1_000])


def one_that_is_no_wav(mine: Path) -> None:
    (mine / "rain" / "rain-0004.wav").write_text("a text")


def one_of_another_rate(mine: Path) -> None:
    (mine / "rain" / "rain-0004.wav").write_bytes(hr.audio.encode_wav(np.zeros((4_000, 1)), 8_000))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (only_one_kind, r"mine needs a subfolder for each kind of sound, two at least; it has bell"),
        (a_kind_with_one_file, r"rain has 1 \.wav files, and two are needed at least"),
        (one_that_was_cut_off, r"rain-0004\.wav: a truncated"),
        (one_that_is_no_wav, r"rain-0004\.wav: "),
        (one_of_another_rate, r"rain-0004\.wav has 8000 samples a second, and the first file 16000"),
        (shutil.rmtree, r"there is no folder .*mine"),
    ],
)
def test_a_mistake_in_the_data_ends_in_one_line_that_names_it(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: object, words: str
) -> None:
    assert callable(spoil)
    spoil(mine)
    assert main([str(mine), *SMALL, "--steps", "8", "--data", str(tmp_path / "data")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(words, line), line


@pytest.mark.parametrize(("module", "extra"), [("torch", "torch"), ("matplotlib", "report")])
def test_what_is_not_installed_is_named_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main([*SMALL, "--data", str(tmp_path / "data")]) == 1
    assert f"pip install 'headrace[{extra}]'" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


# ------------------------------------------------------------------------------ going on


STEPS, EVERY = 12, 3
PROGRAM = """
import os, signal, sys
from pathlib import Path

import torch

import headrace as hr
from examples.wav_classifier.input_fns import Sounds, improved_form
from examples.wav_classifier.job import invoke
from examples.wav_classifier.recordings import recordings_in

class Kill(hr.train.Hook):
    def after_step(self, run, metrics):
        if run.step == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

torch.set_num_threads(1)
place, folder = map(Path, sys.argv[1:3])
steps, every, kill_at = map(int, sys.argv[3:])
sounds = Sounds(rate=16_000, seconds=0.5)
config = hr.train.RunConfig(model_dir=place / "job", save_checkpoints_steps=every, progress=False)
input_fn = improved_form(sounds, 8, place / "cache")
print(invoke(recordings_in(folder), len(sounds.bands), input_fn, steps, config, (Kill(),)).weights.hex())
"""


def run_job(place: Path, sounds: Path, kill_at: int) -> subprocess.CompletedProcess[str]:
    """A process of the job, which is killed when it has made so many steps."""
    command = [sys.executable, "-c", PROGRAM, str(place), str(sounds), str(STEPS), str(EVERY), str(kill_at)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=100, check=False)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
def test_killed_at_a_random_step_and_started_again_the_job_ends_with_the_same_weights(
    sounds: Path, tmp_path: Path
) -> None:
    torch.set_num_threads(1)
    made = Sounds(rate=16_000, seconds=0.5)
    whole = invoke(
        recordings_in(sounds), len(made.bands), improved_form(made, 8, tmp_path / "kept"), STEPS, hr.train.RunConfig()
    )
    kill_at = random.randint(EVERY, STEPS - 1)
    assert run_job(tmp_path, sounds, kill_at).returncode == -signal.SIGKILL
    again = run_job(tmp_path, sounds, STEPS + 1)
    assert again.stdout.strip() == whole.weights.hex(), f"killed at step {kill_at}: {again.stderr}"
