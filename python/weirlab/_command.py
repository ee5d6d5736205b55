"""The command ``weir``, which the extension contains."""

from __future__ import annotations

import signal
import sys

from weirlab import _weirlab


def main() -> int:
    """Runs the command with the arguments of the process; returns its exit status."""
    # The command handles Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _weirlab.run_command(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
