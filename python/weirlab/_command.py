"""The command ``weir``, which is in the extension."""

from __future__ import annotations

import signal
import sys

from weirlab import _weirlab


def main() -> int:
    """Runs the command with the words of the process; returns its exit status."""
    # The command has its own way of ending at Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _weirlab.run_command(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
