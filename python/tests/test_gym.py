"""Environments of Gymnasium."""

from __future__ import annotations

import numpy as np
import pytest

import weirlab as w

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from weirlab.gym import OBSERVED, CongestionControl, VectorCongestionControl  # noqa: E402


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
    single = []
    for _ in range(2):
        vector = VectorCongestionControl([scenario] * 2)
        vector.reset(seed=7)
        for _ in range(30):
            observations, *_ = vector.step(np.full((2, 1), 0.1, np.float32))
        single.append(observations)
    assert np.array_equal(single[0], single[1])
    assert single[0].shape == (2, OBSERVED)
    short = VectorCongestionControl([scenario.set("run.duration", "100ms")] * 3)
    short.reset(seed=1)
    ends = [short.step(np.zeros((3, 1), np.float32))[3].all() for _ in range(21)]
    assert [number for number, end in enumerate(ends) if end] == [9, 20]


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
