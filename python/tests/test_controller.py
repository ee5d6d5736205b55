"""Controllers in Python."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
import time

import numpy as np
import pytest

import weirlab as w


@w.register("aimd")
class Aimd(w.Controller):
    """Additive increase, multiplicative decrease."""

    def __init__(self, config):
        self.mds = config.max_datagram_size
        self.window = config.initial_window
        self.recovery_since = -1.0

    def on_ack(self, ack):
        self.window += self.mds * ack.acked / self.window

    def on_congestion(self, event):
        if event.sent_at > self.recovery_since:
            self.recovery_since = event.now
            self.window = max(self.window / 2, 2 * self.mds)

    def on_timeout(self, now):
        self.window = self.mds


@w.register("constant-rate")
class ConstantRate(w.Controller):
    """Two Mbit/s."""

    def __init__(self, config):
        self.window = 100 * config.max_datagram_size
        self.pacing_rate = 2e6
        self.state = "probe_bw"


def using(scenario, name):
    return scenario.set("flow.*.transport.controller", name)


def test_a_controller_is_used_by_its_name(scenario):
    run = using(scenario, "aimd").run()
    again = using(scenario, "aimd").run()
    assert run.summary == again.summary
    for flow in ("a", "b"):
        assert run.summary["flows"][flow]["goodput_bps"] > 1e6
        windows = run.flow(flow)["cwnd_bytes"]
        assert np.nanmax(windows) > 1.5 * np.nanmin(windows)
    assert "aimd" in using(scenario, "aimd").to_toml()


def test_a_pacing_rate_is_kept(scenario):
    run = using(scenario, "constant-rate").run()
    for flow in ("a", "b"):
        assert run.summary["flows"][flow]["goodput_bps"] == pytest.approx(1.95e6, rel=0.1)
    assert set(run.flow("a")["state"]) >= {"probe_bw"}


class Raises(w.Controller):
    def on_ack(self, ack):
        raise LookupError("no idea")


class RaisesAtOnce(w.Controller):
    def __init__(self, config):
        raise LookupError("no idea")


class NoneWindow(w.Controller):
    def on_ack(self, ack):
        self.window = None


class Nan(w.Controller):
    def on_ack(self, ack):
        self.window = math.nan


class Word(w.Controller):
    def on_ack(self, ack):
        self.pacing_rate = "fast"


class Negative(w.Controller):
    def on_ack(self, ack):
        self.window = -5


class NoWindow(w.Controller):
    def __init__(self, config):
        pass


@pytest.mark.parametrize(
    "cls, words",
    [
        (Raises, "LookupError: no idea"),
        (RaisesAtOnce, "LookupError: no idea"),
        (NoneWindow, "window is of type NoneType"),
        (Nan, "window is NaN"),
        (Word, "pacing_rate is of type str"),
        (Negative, "window is -5"),
        (NoWindow, "window"),
    ],
)
def test_a_controller_that_is_wrong_ends_the_run(scenario, cls, words):
    w.register("wrong")(cls)
    with pytest.raises(w.ControllerError, match="wrong") as caught:
        using(scenario, "wrong").run()
    assert words in str(caught.value)
    assert caught.value.__cause__ is not None


def test_a_controller_that_never_returns_is_interrupted(scenario, monkeypatch):
    from weirlab import controller

    class Never(w.Controller):
        def on_ack(self, ack):
            while True:
                pass

    w.register("never")(Never)
    monkeypatch.setattr(controller, "CALL_TIMEOUT_S", 0.2)
    with pytest.raises(w.ControllerError, match="NoReturn"):
        using(scenario, "never").run()


class Waits(w.Controller):
    """Waits outside of Python code, where an exception cannot be raised in it."""

    def on_ack(self, ack):
        time.sleep(3600)


@pytest.mark.parametrize("ctrl_c", [False, True])
def test_a_controller_that_waits_for_ever_is_left_behind(path, ctrl_c):
    """Runs in a separate process, which ends normally although one of its threads still waits."""
    code = f"""
import os, signal, threading, time
import weirlab as w
from weirlab import controller
{inspect.getsource(Waits)}
w.register("waits")(Waits)
s = w.Scenario.load({str(path)!r}).set("flow.*.transport.controller", "waits")
controller.CALL_TIMEOUT_S = {1000 if ctrl_c else 0.2}
if {ctrl_c}:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    s.run()
except KeyboardInterrupt:
    print("interrupted")
except w.ControllerError as error:
    print(error)
print(s.set("flow.*.transport.controller", "cubic").run().summary["flows"]["a"]["goodput_bps"] > 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    said, after = done.stdout.splitlines()
    assert said == "interrupted" if ctrl_c else "does not return" in said
    assert after == "True" and done.stderr == ""


def test_a_wrong_controller_fails_only_its_runs(scenario):
    w.register("wrong")(Raises)
    controllers = {"flow.*.transport.controller": ["aimd", "wrong"]}
    r = w.sweep(scenario.set("run.duration", "300ms"), controllers, seeds=2)
    assert set(r.summary()["controller"]) == {"aimd"}
    assert all("no idea" in row["error"] for row in r.failed.rows()) and len(r.failed) == 2


@pytest.mark.parametrize("name", ["cubic", "two words", "", "x" * 65])
def test_names_are_checked(name):
    with pytest.raises(w.WeirError):
        w.register(name)(Aimd)


def test_a_controller_is_a_class():
    with pytest.raises(TypeError):
        w.register("number")(7)


@w.register("unresponsive")
class Unresponsive(w.Controller):
    """Fifty packets, whatever happens."""

    def __init__(self, config):
        self.window = 50 * config.max_datagram_size


@w.register("breaks-down")
class BreaksDown(w.Controller):
    """Raises at the first loss."""

    def __init__(self, config):
        self.window = config.initial_window

    def on_congestion(self, event):
        raise ValueError("no idea")


def test_a_controller_of_python_is_evaluated_over_each_transport(tmp_path):
    for transport in ["quic", "tcp"]:
        e = w.evaluate(
            f"{transport}:unresponsive",
            beside=["newreno"],
            chapters=["feedback", "collapse"],
            seeds=2,
            out=tmp_path / transport,
        )
        assert not e.is_safe
        assert any("while every second one is lost" in fault for fault in e.faults)
        assert str(e).startswith(f"{transport}:unresponsive is not safe")
        assert e.result["candidates"] == [f"{transport}:unresponsive", f"{transport}:newreno"]
        assert (tmp_path / transport / "index.html").read_text() == e.html
    e = w.evaluate("quic:newreno", beside=["newreno"], chapters=["feedback"], seeds=2)
    assert e.is_safe and not e.is_worse


def test_what_cannot_be_evaluated_says_why():
    with pytest.raises(w.RunError, match="no idea"):
        w.evaluate("quic:breaks-down", beside=["newreno"], chapters=["loss"], seeds=2)
    with pytest.raises(ValueError, match="did you mean"):
        w.evaluate("quic:cubik")
    with pytest.raises(ValueError, match="there is no chapter"):
        w.evaluate("quic:cubic", chapters=["los"])
    with pytest.raises(ValueError, match="quick, standard, full"):
        w.evaluate("quic:cubic", size="big")


def test_a_window_below_a_packet_is_told(scenario):
    @w.register("in_packets")
    class InPackets(w.Controller):
        """A window that counts packets, by mistake."""

        def __init__(self, config):
            self.window = 10

    with pytest.warns(w.WeirWarning, match="in bytes, not in packets") as told:
        scenario.set("flow.a.transport.controller", "in_packets").run(trace="summary")
    # Each end of a connection has a controller.
    assert {"in_packets" in str(one.message) for one in told} == {True} and len(told) <= 2
