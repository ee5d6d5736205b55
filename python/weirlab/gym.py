"""Environments of Gymnasium in which an agent is the congestion controller of a flow.

An observation has eight numbers, none of them scaled:

| | |
|---|---|
| 0 | smoothed round-trip time, s |
| 1 | smallest round-trip time so far, s |
| 2 | delivered in this step, Mbit/s |
| 3 | last sample of the delivery rate, Mbit/s |
| 4 | share of bytes lost in this step, 0 to 1 |
| 5 | share of packets marked in this step, 0 to 1 |
| 6 | in flight, packets |
| 7 | window in packets, or the pacing rate in Mbit/s |

An action is a number a from -1 to 1: the window, or with ``pacing=True`` the rate, becomes 2^a as
large. The reward of a step is log2(delivered Mbit/s + 0.01) - log2(smoothed / smallest round-trip
time) - 10 · loss; pass ``reward``, a function of the observation, for another one. An episode is
truncated at the end of the scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from weirlab import _weirlab
from weirlab.scenario import Scenario
from weirlab.units import seconds

#: The numbers of an observation.
OBSERVED = 8

Reward = Callable[[NDArray[np.float32]], float]


def _observation_space() -> Any:
    return spaces.Box(0.0, np.inf, (OBSERVED,), np.float32)


def _action_space() -> Any:
    return spaces.Box(-1.0, 1.0, (1,), np.float32)


class CongestionControl(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One scenario; the agent controls a flow of it.

    Args:
        scenario: The scenario. Its flow must be QUIC or TCP.
        flow: The name of the flow; the first one if absent.
        step: The time of a step.
        pacing: Actions change the pacing rate, not the window.
        reward: A function of the observation.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: Scenario,
        flow: str | None = None,
        *,
        step: str | float = "10ms",
        pacing: bool = False,
        reward: Reward | None = None,
    ) -> None:
        self.observation_space = _observation_space()
        self.action_space = _action_space()
        self._reward = reward
        self._inner = _weirlab.Environment(
            [scenario._inner], flow or scenario.flow_names[0], seconds(step), pacing
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins the scenario anew; its seed is drawn unless one is given."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(1 << 31))
        return np.frombuffer(self._inner.reset(0, drawn), "<f4").copy(), {"seed": drawn}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Acts, and simulates a step."""
        octets = np.asarray(action, "<f4").reshape(-1).tobytes()
        observed, reward, over = self._inner.step(octets)
        observation = np.frombuffer(observed, "<f4").copy()
        value = float(np.frombuffer(reward, "<f4")[0])
        if self._reward is not None:
            value = float(self._reward(observation))
        return observation, value, False, bool(over[0]), {}


class VectorCongestionControl(VectorEnv[Any, Any, Any]):
    """Several scenarios, simulated beside each other on all cores.

    Args:
        scenarios: One for each environment.
        flow: The name of the flow in all of them; the first flow of the first one if absent.
        step: The time of a step.
        pacing: Actions change the pacing rate, not the window.

    An environment whose episode has ended begins anew with the next step (Gymnasium's
    ``AutoresetMode.NEXT_STEP``).
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        flow: str | None = None,
        *,
        step: str | float = "10ms",
        pacing: bool = False,
    ) -> None:
        self.num_envs = len(scenarios)
        self.single_observation_space = _observation_space()
        self.single_action_space = _action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        name = flow or scenarios[0].flow_names[0]
        inner = [scenario._inner for scenario in scenarios]
        self._inner = _weirlab.Environment(inner, name, seconds(step), pacing)
        self._over = np.zeros(self.num_envs, bool)

    def _begin(self, number: int) -> NDArray[np.float32]:
        drawn = int(self.np_random.integers(1 << 31))
        return np.frombuffer(self._inner.reset(number, drawn), "<f4")

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins all scenarios anew; their seeds are drawn."""
        first = seed[0] if isinstance(seed, list) else seed
        super().reset(seed=first)
        self._over[:] = False
        return np.stack([self._begin(number) for number in range(self.num_envs)]), {}

    def step(self, actions: NDArray[np.float32]) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Acts in all environments, and simulates a step in each."""
        octets = np.asarray(actions, "<f4").reshape(-1).tobytes()
        ended = [int(number) for number in np.flatnonzero(self._over)]
        observed, rewards, over = self._inner.step(octets)
        observations = np.frombuffer(observed, "<f4").reshape(self.num_envs, OBSERVED)
        values = np.frombuffer(rewards, "<f4").astype(np.float64)
        self._over = np.frombuffer(over, np.uint8).astype(bool)
        if ended:
            # What has ended stays at its end in a step, and begins anew after it.
            observations, values = observations.copy(), values.copy()
            self._over = self._over.copy()
            for number in ended:
                observations[number], values[number] = self._begin(number), 0.0
                self._over[number] = False
        return observations, values, np.zeros(self.num_envs, bool), self._over.copy(), {}
