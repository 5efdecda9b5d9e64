"""Files and formats: opening, reading, decoding. One file a format.

``hr.io`` is this package's public surface; readers and formats are imported from their own modules.
"""

from __future__ import annotations

from headrace.io.csv import decode_csv
from headrace.io.files import read_file
from headrace.io.image_decoding import decode_image, decode_jpeg, decode_png

__all__ = ["decode_csv", "decode_image", "decode_jpeg", "decode_png", "read_file"]
