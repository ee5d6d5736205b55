"""Measures what the Python package costs, and prints rates and ratios.

    python python/benchmarks/measure.py [--weir target/release/weir] [part …]

Times are processor time, so that other work on the machine affects them little; rates on two cores
are twice those of a second of processor time. Compare only numbers printed by the same call.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import weirlab as w

#: The path of both scenarios.
LINK = """[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "100Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "250kB" }
"""

HUNDRED = LINK + """
[run]
duration = "10s"

[[flow]]
name = "flow"
count = 100
from = "server"
to = "client"
start = "0s..1s"
transport = { kind = "tcp", controller = "cubic" }
"""

ONE = LINK + """
[run]
duration = "20s"

[[flow]]
name = "file"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "newreno", ack_every = 1 }
"""

PATH = """
[run]
duration = "10s"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "10Mbit"
delay = "20ms"
queue = { kind = "droptail", limit = "50kB" }

[[flow]]
name = "file"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "cubic" }
"""


def cpu_of_children():
    """Processor time of child processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def over_command(options):
    """A run of 100 flows for 10 s, alternately by the command and from Python."""
    command = [options.weir or shutil.which("weir") or "weir"]
    for trace, words in (("summary", ["--summary-only"]), ("full", [])):
        ratios, pairs = [], []
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "path.toml"
            file.write_text(HUNDRED)
            for number in range(7):
                out = ["--out", str(Path(folder) / f"out{number}"), "--json"]
                before = cpu_of_children()
                subprocess.run(
                    [*command, "run", str(file), *out, *words],
                    check=True,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                of_command = cpu_of_children() - before
                begun = time.process_time()
                w.Scenario.load(file).run(trace=trace)
                of_python = time.process_time() - begun
                ratios.append(of_python / of_command)
                pairs.append((of_command, of_python))
        command_s, python_s = (statistics.median(side) for side in zip(*pairs))
        print(
            f"100 flows, 10 s, trace {trace}: command {command_s:.3f} s, Python {python_s:.3f} s, "
            f"median ratio {statistics.median(ratios):.3f}"
        )


class Counted(w.Controller):
    """Counts its calls and increases its window additively."""

    calls = 0

    def __init__(self, config):
        self.packet = config.max_datagram_size
        self.window = config.initial_window
        self.recovery_since = -1.0

    def on_ack(self, ack):
        Counted.calls += 1
        self.window += self.packet * ack.acked / self.window

    def on_congestion(self, event):
        if event.sent_at > self.recovery_since:
            self.recovery_since = event.now
            self.window = max(self.window / 2, 2 * self.packet)


def controller(options):
    """Acknowledgements handled by a controller in Python, including the rest of the simulation."""
    w.register("counted")(Counted)
    scenario = w.Scenario.from_toml(ONE)
    in_python = scenario.set("flow.file.transport.controller", "counted")
    rates = []
    for _ in range(5):
        begun = time.process_time()
        scenario.run(trace="counters")
        built_in = time.process_time() - begun
        Counted.calls = 0
        begun = time.process_time()
        in_python.run(trace="counters")
        rates.append((Counted.calls / (time.process_time() - begun), built_in))
    rate, built_in = (statistics.median(side) for side in zip(*rates))
    calls = Counted.calls
    print(
        f"controller in Python: {rate:,.0f} acknowledgements a second; {1e6 / rate:.2f} µs each, "
        f"{built_in / calls * 1e6:.2f} µs with NewReno in its place ({calls:,} acknowledgements)"
    )


def environment(options):
    """Steps of a vectorised environment."""
    from weirlab.gym import VectorCongestionControl

    count, steps = 64, 500
    vector = VectorCongestionControl([w.Scenario.from_toml(PATH)] * count, step="10ms")
    vector.reset(seed=1)
    actions = np.zeros((count, 1), np.float32)
    rates = []
    for number in range(4):
        begun, wall = time.process_time(), time.monotonic()
        for _ in range(steps):
            observations, *_ = vector.step(actions)
            # Keeps the window near the bandwidth-delay product of the path.
            actions = np.where(observations[:, :1] > 0.06, -0.05, 0.05).astype(np.float32)
        used, wall = time.process_time() - begun, time.monotonic() - wall
        rates.append((count * steps / used, count * steps / wall))
    rate, by_clock = (statistics.median(side) for side in zip(*rates))
    cores = len(os.sched_getaffinity(0))
    print(
        f"vectorised environment, {count} paths of 10 Mbit/s, steps of 10 ms: {rate:,.0f} steps "
        f"for each second of processor time, {2 * rate:,.0f} on two cores; "
        f"{by_clock:,.0f} a second by the clock on {cores} cores"
    )


def ready_s():
    """Seconds for which the threads of this process ran or waited for a core."""
    files = Path("/proc/self/task").glob("*/schedstat")
    return sum(sum(int(word) for word in file.read_text().split()[:2]) for file in files) * 1e-9


def sweep(options):
    """A sweep of 2,000 short runs: the utilisation of the cores, and the cost of a run."""
    short = w.Scenario.from_toml(PATH).set({"run.duration": "2s", "flow.file.start": "0s..1s"})
    delays = [f"{number}ms" for number in range(1, 101)]
    used = {}
    for threads in (1, None):
        with tempfile.TemporaryDirectory() as out:
            begun, wall, ready = time.process_time(), time.monotonic(), ready_s()
            r = w.sweep(
                short, {"link.bottleneck.delay": delays}, seeds=20, out=out, threads=threads
            )
            wall, ready = time.monotonic() - wall, ready_s() - ready
            used[threads] = time.process_time() - begun, wall, ready / wall
            files = Path(out).glob("runs/*/*.parquet")
            octets = sum(file.stat().st_size for file in files)
            runs = len(set(r.table["run"]))
    (serial, serial_wall, _), (parallel, wall, ready) = used[1], used[None]
    cores = len(os.sched_getaffinity(0))
    print(
        f"sweep of {runs} runs of 2 s: one thread {serial:.1f} s of processor time in "
        f"{serial_wall:.1f} s; "
        f"all {cores} cores {parallel:.1f} s in {wall:.1f} s: "
        f"{parallel / wall / cores:.0%} of the cores used, {ready / cores:.0%} used or waited for "
        f"(the rest of the machine has them); ratio of processor time "
        f"{parallel / serial:.3f}; {octets / runs:.0f} bytes a run"
    )


PARTS = {part.__name__: part for part in (over_command, controller, environment, sweep)}


def main():
    """Runs the given parts, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--weir", help="the command to compare with; the installed one if absent")
    parser.add_argument("part", nargs="*", choices=[[], *PARTS])
    options = parser.parse_args()
    for part in options.part or PARTS:
        PARTS[part](options)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
