"""Fixtures of several tests."""

from __future__ import annotations

import signal

import matplotlib
import pytest

import weirlab as w

matplotlib.use("Agg")

# A shell starts background programs with SIGINT ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Two flows over a bottleneck in a short run.
TEXT = """
[run]
duration = "2s"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "10Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = 50 }
loss = { kind = "random", rate = 0.002 }

[[flow]]
name = "a"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "cubic" }

[[flow]]
name = "b"
from = "server"
to = "client"
transport = { kind = "quic", controller = "newreno" }
"""


@pytest.fixture
def scenario() -> w.Scenario:
    return w.Scenario.from_toml(TEXT, "path.toml")


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "path.toml"
    file.write_text(TEXT)
    return file
