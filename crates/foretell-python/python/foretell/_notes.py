"""What the library notes: warnings at the line that called, and logging for those who listen."""

from __future__ import annotations

import logging
import os
import sys
import warnings

from foretell.errors import ForetellWarning

_HERE = os.path.dirname(__file__)


def warn(notes: list[str]) -> None:
    """Tells notes; a filter may turn them into exceptions."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename).startswith(_HERE):
        level, frame = level + 1, frame.f_back
    logger = logging.getLogger("foretell")
    for note in notes:
        if logger.hasHandlers():
            logger.warning(note)
        warnings.warn(note, ForetellWarning, stacklevel=level)
