"""Scenarios: reading, building, changing, and their errors."""

from __future__ import annotations

import math
import pickle

import pytest

import weirlab as w


def test_file_text_dict_and_classes_are_one_scenario(path):
    loaded = w.Scenario.load(path)
    settings = w.settings
    link = {
        "name": "bottleneck",
        "between": ["server", "client"],
        "rate": "10Mbit",
        "delay": "10ms",
        "queue": w.droptail(50),
        "loss": {"kind": "random", "rate": 0.002},
    }
    ends = {"from": "server", "to": "client"}
    flows = [
        {"name": "a", **ends, "transport": w.tcp(controller="cubic")},
        {"name": "b", **ends, "transport": w.quic(controller="newreno")},
    ]
    tables = {"run": {"duration": "2s"}, "link": [link], "flow": flows}
    from_dict = w.Scenario.from_dict(tables)
    built = w.Scenario.build(
        settings.Run(duration="2s"),
        settings.Link(**link),
        settings.Flow(name="a", from_="server", to="client", transport=w.tcp(controller="cubic")),
        settings.Flow(name="b", from_="server", to="client", transport=w.quic(controller="newreno")),
    )
    assert from_dict == loaded == built
    assert loaded.content_hash() == built.content_hash()
    assert pickle.loads(pickle.dumps(loaded)) == loaded
    assert loaded.flow_names == ["a", "b"]


def test_what_is_set_is_set(scenario):
    changed = scenario.set("link.bottleneck.rate", "5Mbit").set("flow.*.start", "1s")
    assert changed.settings()["link.bottleneck.forward.rate"] == "5Mbit"
    assert [changed.settings()[f"flow.{name}.start"] for name in "ab"] == ["1s", "1s"]
    assert scenario.settings()["link.bottleneck.forward.rate"] == "10Mbit"
    assert changed.set({"run.seed": 7, "run.duration": "3s"}).seed == 7


def test_an_error_has_its_place():
    text = '[run]\nduration = "2s"\n\n[[link]]\nname = "x"\ndelai = "5ms"\n'
    with pytest.raises(w.ScenarioError) as caught:
        w.Scenario.from_toml(text, "p.toml")
    error = caught.value
    assert (error.file, error.line, error.column) == ("p.toml", 6, 1)
    assert "delai" in error.message and 'did you mean "delay"?' in error.expected
    assert str(error).startswith("p.toml:6:1: ")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.line, copy.expected) == (error.line, error.expected)


@pytest.mark.parametrize(
    "path, value",
    [
        ("link.bottleneck.rate", math.nan),
        ("link.bottleneck.rate", math.inf),
        ("link.bottleneck.rate", None),
        ("link.bottleneck.rate", object()),
        ("link.bottleneck.rate", "fast"),
        ("link.bottleneck.queue", w.droptail("many")),
        ("link.nowhere.rate", "1Mbit"),
        ("flow.*.transport.controller", "nonsense"),
        ("", 1),
        ("run.seed", -1),
        ("run.seed", 10**30),
    ],
)
def test_wrong_values_are_refused(scenario, path, value):
    with pytest.raises(w.ScenarioError):
        scenario.set(path, value)


@pytest.mark.parametrize("wrong", [None, 7, b"[run]", ["run"]])
def test_wrong_types_are_refused(wrong):
    for read in (w.Scenario.from_toml, w.Scenario.from_dict):
        with pytest.raises(w.ScenarioError):
            read(wrong)


def test_classes_know_their_keys():
    assert w.droptail("250kB")["limit"] == "250kB"
    assert w.codel() == {"kind": "codel"}
    with pytest.raises(TypeError, match="no key"):
        w.codel(targett="5ms")
    with pytest.raises(TypeError, match="keys, found"):
        w.droptail(*range(50))
    with pytest.raises(AttributeError):
        w.no_such_queue
    assert "limit" in (w.droptail.__doc__ or "")


def test_theory_is_that_of_the_command():
    result = w.theory.tfrc(s=1400, rtt="400ms", p=0.002)
    assert result.equation_rate_bps == pytest.approx(753.25e3, rel=1e-4)
    with pytest.raises(w.TheoryError):
        w.theory.tfrc(s=1400, rtt="400ms", p=math.nan)
    with pytest.raises(w.TheoryError):
        w.theory.tfrc(s=1400)
    with pytest.raises(AttributeError):
        w.theory.no_law


def test_rates_and_times_may_be_numbers():
    queue = w.codel(target=0.005)
    assert dict(queue) == {"kind": "codel", "target": "5ms"}
    link = w.settings.Link("l", between=["a", "b"], rate=5e6, delay=0.0201)
    assert link["rate"] == "5Mbit" and link["delay"] == "20100us"
    tables = {
        "run": {"duration": 2},
        "link": [{"name": "l", "between": ["a", "b"], "rate": 5_000_000, "queue": queue}],
        "flow": [{"name": "f", "from": "a", "to": "b", "transport": {"kind": "udp"}}],
    }
    tables["flow"][0]["app"] = {"kind": "cbr", "rate": 1500, "packet": 100}
    made = w.Scenario.from_dict(tables)
    set_by_number = made.set({"link.l.rate": 2.5e6, "run.duration": 0.5, "link.*.delay": 0.01})
    set_by_text = made.set(
        {"link.l.rate": "2500kbit", "run.duration": "500ms", "link.*.delay": "10ms"}
    )
    assert made.duration == 2 and set_by_number == set_by_text
    # A number without a unit stays one: a queue's limit is in packets.
    limited = made.set("link.l.queue", w.droptail(40)).settings()
    limits = {value for path, value in limited.items() if path.endswith("queue.limit")}
    assert limits == {"40"}


def test_numbers_that_are_no_rates_are_refused(scenario):
    for wrong in (-5e6, float("nan"), True):
        with pytest.raises(w.ScenarioError):
            scenario.set("link.bottleneck.rate", wrong)
