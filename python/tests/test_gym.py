"""Environments of Gymnasium."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import weirlab as w

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from weirlab.gym import (  # noqa: E402
    OBSERVED,
    CongestionControl,
    VectorCongestionControl,
    controller_of,
)


@pytest.mark.parametrize("pacing", [False, True])
@pytest.mark.filterwarnings("ignore:.*A Box observation space m.*")
def test_gymnasium_accepts_the_environment(scenario, pacing):
    check_env(CongestionControl(scenario, "a", pacing=pacing), skip_render_check=True)


@pytest.mark.parametrize("pacing", [False, True])
def test_actions_change_what_is_sent(scenario, pacing):
    environment = CongestionControl(scenario, "b", step="50ms", pacing=pacing)
    environment.reset(seed=1)
    delivered = {}
    for action in (-1.0, 1.0, 0.0, 0.0, 0.0, 0.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0):
        observation, reward, _, over, _ = environment.step(np.array([action], np.float32))
        delivered.setdefault(action, []).append(observation[2])
        assert np.isfinite(observation).all() and np.isfinite(reward) and not over
    assert delivered[-1.0][-1] < max(delivered[0.0])


def test_an_episode_ends_with_the_scenario(scenario):
    environment = CongestionControl(scenario.set("run.duration", "200ms"), step="60ms")
    environment.reset(seed=1)
    ends = [environment.step(np.zeros(1, np.float32))[3] for _ in range(4)]
    assert ends == [False, False, False, True]
    first, _ = environment.reset(seed=1)
    again, _ = environment.reset(seed=1)
    assert np.array_equal(first, again)


def test_a_vector_is_that_of_single_environments(scenario):
    short = scenario.set("run.duration", "400ms")
    paths = [short.set("link.bottleneck.delay", delay) for delay in ("5ms", "20ms")]
    seeds = [7, 8]
    vector = VectorCongestionControl(paths)
    singles = [CongestionControl(path) for path in paths]
    first, _ = vector.reset(seed=7)
    again, _ = vector.reset(seed=seeds)
    assert np.array_equal(first, again) and first.shape == (2, OBSERVED)
    for number, (single, seed) in enumerate(zip(singles, seeds)):
        assert np.array_equal(single.reset(seed=seed)[0], again[number])
    for step in range(60):
        action = np.float32(0.1 if step % 3 else -0.1)
        observations, rewards, _, over, _ = vector.step(np.full((2, 1), action))
        for number, single in enumerate(singles):
            if step == 40:      # the step after the end, in which an environment restarts
                expected, reward = single.reset()[0], 0.0
            else:
                expected, reward, _, ended, _ = single.step(np.array([action]))
                assert ended == over[number] == (step == 39)
            assert np.array_equal(expected, observations[number]) and reward == rewards[number]


def test_wrong_seeds_are_refused(scenario):
    with pytest.raises(w.WeirError, match="3 seeds for 2"):
        VectorCongestionControl([scenario] * 2).reset(seed=[1, 2, 3])


def test_a_policy_becomes_a_controller(scenario):
    goodputs = []
    for action in (-1.0, 0.05):
        seen = []

        def policy(observation):
            seen.append(observation)
            return action

        w.register("policy")(controller_of(policy, step="20ms"))
        run = scenario.set("flow.a.transport.controller", "policy").run()
        goodputs.append(run.summary["flows"]["a"]["goodput_bps"])
        assert 80 < len(seen) <= 100 and {o.shape for o in seen} == {(OBSERVED,)}
        assert all(np.isfinite(o).all() and (o >= 0).all() for o in seen)
    assert goodputs[0] < goodputs[1] / 3


def test_the_example_trains_and_compares(tmp_path):
    file = Path(__file__).parents[1] / "examples" / "train.py"
    example = runpy.run_path(str(file))
    words = ["--generations", "2", "--population", "4", "--seeds", "1..2", "--duration", "3s"]
    made = example["main"]([*words, "--out", str(tmp_path)])
    assert len(made["rows"]) == 12 and np.isfinite(made["weights"]).all()
    assert all(row["goodput_mbps_mean"] > 0 for row in made["rows"])
    assert (tmp_path / "trained.svg").stat().st_size > 1000


def test_wrong_actions_and_steps_are_refused(scenario):
    environment = CongestionControl(scenario)
    environment.reset(seed=1)
    for wrong in ([np.nan], [0.0, 0.0], []):
        with pytest.raises(w.WeirError):
            environment.step(np.array(wrong, np.float32))
    with pytest.raises(ValueError):
        CongestionControl(scenario, step="0s")
    with pytest.raises(w.RunError, match="not reset"):
        CongestionControl(scenario).step(np.zeros(1, np.float32))
    with pytest.raises(w.RunError, match="nobody"):
        CongestionControl(scenario, "nobody").reset()


def test_environments_are_made_by_name(scenario, path):
    alone = gymnasium.make("weirlab.gym:weirlab/CongestionControl-v0")
    check_env(alone.unwrapped, skip_render_check=True)
    made = gymnasium.make("weirlab/CongestionControl-v0", scenario=str(path), flow="b")
    own = CongestionControl(scenario, "b")
    assert np.array_equal(made.reset(seed=3)[0], own.reset(seed=3)[0])
    action = np.array([0.5], np.float32)
    assert np.array_equal(made.step(action)[0], own.step(action)[0])
    vector = gymnasium.make_vec("weirlab/CongestionControl-v0", num_envs=3, scenario=scenario)
    assert vector.reset(seed=1)[0].shape == (3, OBSERVED)
