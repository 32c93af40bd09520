"""The command line: ``python -m foretell …``, or ``foretell …``."""

import sys

from foretell._native import main as _main


def main() -> None:
    """Runs the command line and exits with its code."""
    sys.exit(_main(["foretell", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
