"""``python -m examples.alexnet_finetune``."""

from __future__ import annotations

import sys

from examples.alexnet_finetune.command import main

sys.exit(main())
