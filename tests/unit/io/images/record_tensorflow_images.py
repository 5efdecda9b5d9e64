"""Records what TensorFlow makes of images, for test_images_as_tensorflow.py. Run it by a Python that has TensorFlow
and Pillow, which writes the files:

    PYTHONPATH=. python tests/unit/io/images/record_tensorflow_images.py tests/unit/io/images/tensorflow_images.npz

``cases`` is JSON: name of the file, name of the operation, its arguments. Case n's pixels are ``pixels_n``; there are
none where TensorFlow raised an error. ``file_NAME`` are the bytes.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from PIL import Image
from tests.unit.io.images.png_files import chunk, png

RNG = np.random.default_rng(0)
SMOOTH = np.array(
    Image.fromarray(RNG.integers(0, 256, (4, 5, 3), dtype=np.uint8)).resize((29, 21), Image.Resampling.BICUBIC)
)
PIXELS = np.clip(SMOOTH + RNG.normal(0, 9, SMOOTH.shape), 0, 255).astype(np.uint8)


def saved(image: Any, kind: str, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **how)
    return file.getvalue()


def jpeg_files() -> Iterator[tuple[str, bytes]]:
    rgb, cmyk = Image.fromarray(PIXELS), Image.fromarray(PIXELS).convert("CMYK")
    for name, sampling in (("444", 0), ("422", 1), ("420", 2)):
        yield f"jpeg_{name}", saved(rgb, "JPEG", quality=85, subsampling=sampling)
    yield "jpeg_progressive", saved(rgb, "JPEG", quality=70, progressive=True)
    yield "jpeg_gray", saved(rgb.convert("L"), "JPEG", quality=90)
    yield "jpeg_cmyk", saved(cmyk, "JPEG", quality=90)
    yield "jpeg_cmyk_plain", without_adobe(saved(cmyk, "JPEG", quality=90))
    yield "jpeg_one_pixel", saved(Image.fromarray(PIXELS[:1, :1]), "JPEG")
    whole = saved(rgb, "JPEG", quality=85, subsampling=0)
    yield "jpeg_stray_bytes", whole[:-2] + b"abc" + whole[-2:]
    yield "jpeg_more_behind", whole + b"more"
    yield "jpeg_cut", whole[: len(whole) // 2]
    yield "jpeg_cut_in_header", whole[:100]


def without_adobe(jpeg: bytes) -> bytes:
    """The same file with no word of the program that wrote it."""
    place = jpeg.index(b"\xff\xee")
    return jpeg[:place] + jpeg[place + 2 + int.from_bytes(jpeg[place + 2 : place + 4], "big") :]


def png_files() -> Iterator[tuple[str, bytes]]:
    def rows(size: int) -> list[bytes]:
        return [RNG.integers(0, 256, size, dtype=np.uint8).tobytes() for _ in range(3)]

    palette = chunk(b"PLTE", RNG.integers(0, 256, 12, dtype=np.uint8).tobytes())
    yield "png_gray", png(5, 3, 8, 0, rows(5))
    yield "png_gray_1", png(5, 3, 1, 0, rows(1))
    yield "png_gray_4", png(5, 3, 4, 0, rows(3))
    yield "png_gray_16", png(5, 3, 16, 0, rows(10))
    yield "png_gray_shade", png(2, 1, 8, 0, [b"\x07\x08"], chunk(b"tRNS", b"\x00\x07"))
    yield "png_gray_4_shade", png(2, 1, 4, 0, [b"\x78"], chunk(b"tRNS", b"\x00\x07"))
    yield "png_gray_16_shade", png(2, 1, 16, 0, [b"\x07\x01\x07\x02"], chunk(b"tRNS", b"\x07\x01"))
    yield "png_gray_alpha", png(5, 3, 8, 4, rows(10))
    yield "png_gray_alpha_16", png(5, 3, 16, 4, rows(20))
    yield "png_rgb", png(5, 3, 8, 2, rows(15))
    yield "png_rgb_16", png(5, 3, 16, 2, rows(30))
    yield "png_rgb_shade", png(2, 1, 8, 2, [b"\1\2\3\4\5\6"], chunk(b"tRNS", b"\0\1\0\2\0\3"))
    yield "png_rgba", png(5, 3, 8, 6, rows(20))
    yield "png_rgba_16", png(5, 3, 16, 6, rows(40))
    yield "png_palette", png(5, 3, 2, 3, rows(2), palette)
    yield "png_palette_alpha", png(5, 3, 2, 3, rows(2), palette + chunk(b"tRNS", b"\x10\x80"))
    yield "png_cut", png(5, 3, 8, 2, rows(15))[:60]


def other_files() -> Iterator[tuple[str, bytes]]:
    frames = [Image.fromarray(PIXELS) for _ in range(3)]
    frames[1].paste((250, 0, 0), (2, 3, 12, 9))
    frames[2].paste((0, 250, 0), (8, 6, 20, 15))
    yield "gif", saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    yield "gif_one", saved(frames[0], "GIF")
    yield "gif_restored", saved(frames[0], "GIF", save_all=True, append_images=frames[1:], disposal=2)
    yield "bmp", saved(frames[0], "BMP")
    yield "bmp_alpha", saved(frames[0].convert("RGBA"), "BMP")
    yield "no_image", b"no image at all"
    yield "empty", b""


def operations(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for channels in (0, 1, 3, 4):
        yield "decode_image", {"channels": channels}
    for dtype in ("uint16", "float32"):
        yield "decode_image", {"dtype": dtype}
    yield "decode_image", {"expand_animations": False}
    if name.startswith("jpeg"):
        for ratio in (2, 4, 8, 3):
            yield "decode_jpeg", {"ratio": ratio}
        yield "decode_jpeg", {"fancy_upscaling": False}
        yield "decode_jpeg", {"dct_method": "INTEGER_FAST"}
        yield "decode_jpeg", {"channels": 1, "ratio": 2}
    if name.startswith("png"):
        for channels in (0, 1, 3, 4):
            for dtype in ("uint8", "uint16"):
                yield "decode_png", {"channels": channels, "dtype": dtype}
        yield "decode_jpeg", {"channels": 3}


def main() -> None:
    files = dict([*jpeg_files(), *png_files(), *other_files()])
    # Compressed arrays of one image each: small enough to be kept beside the test.
    arrays: dict[str, Any] = {f"file_{name}": np.frombuffer(file, np.uint8) for name, file in files.items()}
    cases = [(name, operation, how) for name in files for operation, how in operations(name)]
    for number, (name, operation, how) in enumerate(cases):
        typed = {key: tf.as_dtype(value) if key == "dtype" else value for key, value in how.items()}
        try:
            arrays[f"pixels_{number}"] = getattr(tf.io, operation)(files[name], **typed).numpy()
        except tf.errors.InvalidArgumentError:
            continue
    np.savez_compressed(sys.argv[1], cases=np.array(json.dumps(cases)), **arrays)


if __name__ == "__main__":
    main()
