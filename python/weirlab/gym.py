"""Environments of Gymnasium in which an agent is the congestion controller of a flow.

With this module imported ``gymnasium.make("weirlab/CongestionControl-v0", scenario="path.toml")`` makes
one; ``"weirlab.gym:weirlab/CongestionControl-v0"`` imports it.

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

An action is a number a from -1 to 1: the window, or with ``pacing=True`` the rate, is multiplied
by 2^a. The reward of a step is log2(delivered Mbit/s + 0.01) - log2(smoothed / smallest round-trip
time) - 10 · loss; pass ``reward``, a function of the observation, for another one. An episode is
truncated at the end of the scenario.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from weirlab import _weirlab
from weirlab._weirlab import Ack, ControllerConfig
from weirlab.controller import Controller
from weirlab.errors import WeirError
from weirlab.scenario import Scenario
from weirlab.units import seconds

#: The number of values in an observation.
OBSERVED = 8
#: The minimum and maximum window, in packets.
WINDOW_PACKETS = (1.0, 1e6)

Reward = Callable[[NDArray[np.float32]], float]
#: From an observation to an action: a number from -1 to 1.
Policy = Callable[[NDArray[np.float32]], float]


#: The scenario of an environment that is made without one: a flow alone on 20 Mbit/s and 40 ms.
DEFAULT = """
run = { duration = "20s" }
link = [{ name = "bottleneck", between = ["server", "client"], rate = "20Mbit", delay = "20ms", \
queue = { kind = "droptail", limit = "200kB" } }]
flow = [{ name = "agent", from = "server", to = "client", transport = { kind = "quic" } }]
"""


def _scenario_of(given: Scenario | str | os.PathLike[str] | None) -> Scenario:
    if isinstance(given, Scenario):
        return given
    return Scenario(DEFAULT, "<default>") if given is None else Scenario.load(given)


def _observation_space() -> Any:
    return spaces.Box(0.0, np.inf, (OBSERVED,), np.float32)


def _action_space() -> Any:
    return spaces.Box(-1.0, 1.0, (1,), np.float32)


class CongestionControl(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """One scenario; the agent controls a flow of it.

    Args:
        scenario: The scenario, or its file. Its flow must be QUIC or TCP. Without one a flow is
            alone on 20 Mbit/s and 40 ms.
        flow: The name of the flow; the first one if absent.
        step: The time of a step.
        pacing: Actions change the pacing rate, not the window.
        reward: A function of the observation.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        scenario: Scenario | str | os.PathLike[str] | None = None,
        flow: str | None = None,
        *,
        step: str | float = "10ms",
        pacing: bool = False,
        reward: Reward | None = None,
    ) -> None:
        self.observation_space = _observation_space()
        self.action_space = _action_space()
        self._reward = reward
        chosen = _scenario_of(scenario)
        self._inner = _weirlab.Environment(
            [chosen._inner], flow or chosen.flow_names[0], seconds(step), pacing
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Restarts the scenario with a seed drawn from the environment's generator."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(1 << 31))
        return np.frombuffer(self._inner.reset([(0, drawn)]), "<f4").copy(), {"seed": drawn}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Applies the action and simulates a step."""
        octets = np.asarray(action, "<f4").reshape(-1).tobytes()
        observed, reward, over = self._inner.step(octets)
        observation = np.frombuffer(observed, "<f4").copy()
        value = float(np.frombuffer(reward, "<f4")[0])
        if self._reward is not None:
            value = float(self._reward(observation))
        return observation, value, False, bool(over[0]), {}


class VectorCongestionControl(VectorEnv[Any, Any, Any]):
    """Several scenarios, simulated in parallel on all cores.

    Args:
        scenarios: One for each environment.
        flow: The name of the flow in all of them; the first flow of the first one if absent.
        step: The time of a step.
        pacing: Actions change the pacing rate, not the window.

    An environment whose episode has ended restarts with the next step (Gymnasium's
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
        self._generators: list[np.random.Generator] = []

    def _begin(self, numbers: Sequence[int]) -> NDArray[np.float32]:
        """Restarts these environments, each with a seed drawn from its own generator."""
        drawn = [(n, int(self._generators[n].integers(1 << 31))) for n in numbers]
        return np.frombuffer(self._inner.reset(drawn), "<f4").reshape(-1, OBSERVED)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Restarts all scenarios.

        Args:
            seed: A seed for each environment, with the same effect as in
                :class:`CongestionControl`; a number n stands for n, n + 1 …; an environment
                without a seed continues with its generator.
            options: Not used.
        """
        seeds: list[int | None]
        if isinstance(seed, (int, np.integer)):
            seeds = [int(seed) + number for number in range(self.num_envs)]
        else:
            seeds = [None] * self.num_envs if seed is None else list(seed)
        if len(seeds) != self.num_envs:
            raise WeirError(f"{len(seeds)} seeds for {self.num_envs} environments")
        for number, own in enumerate(seeds):
            if own is not None or number >= len(self._generators):
                self._generators[number : number + 1] = [np_random(own)[0]]
        self._over[:] = False
        return self._begin(range(self.num_envs)).copy(), {}

    def step(self, actions: NDArray[np.float32]) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Applies the actions and simulates a step in all environments."""
        octets = np.asarray(actions, "<f4").reshape(-1).tobytes()
        ended = [int(number) for number in np.flatnonzero(self._over)]
        observed, rewards, over = self._inner.step(octets)
        observations = np.frombuffer(observed, "<f4").reshape(self.num_envs, OBSERVED)
        values = np.frombuffer(rewards, "<f4").astype(np.float64)
        self._over = np.frombuffer(over, np.uint8).astype(bool)
        if ended:
            # An environment that has ended does not advance in this step, and restarts after it.
            observations, values = observations.copy(), values.copy()
            self._over = self._over.copy()
            observations[ended], values[ended] = self._begin(ended), 0.0
            self._over[ended] = False
        return observations, values, np.zeros(self.num_envs, bool), self._over.copy(), {}


def vector_of(
    num_envs: int = 1,
    scenario: Scenario | str | os.PathLike[str] | None = None,
    **options: Any,
) -> VectorCongestionControl:
    """Several environments of one scenario, for ``gymnasium.make_vec``; they differ by seed."""
    return VectorCongestionControl([_scenario_of(scenario)] * num_envs, **options)


def controller_of(policy: Policy, *, step: str | float = "10ms") -> type[Controller]:
    """A controller that applies a policy, like an agent of :class:`CongestionControl` that changes
    the window: ``weirlab.register("trained")(controller_of(policy))``.

    It makes an observation at the first acknowledgement after each step; in steps without
    acknowledgements the observation has no delivered data.

    Args:
        policy: From an observation to an action, -1 to 1.
        step: The time of a step.
    """
    period = seconds(step)

    class Trained(Controller):
        """A trained policy."""

        def __init__(self, config: ControllerConfig) -> None:
            self.packet = config.max_datagram_size
            self.window = float(config.initial_window)
            self.next_step: float | None = None
            self.acked = self.packets = self.marked = self.lost = 0
            self.sample = 0.0

        def on_ack(self, ack: Ack) -> None:
            self.acked += ack.acked
            self.packets += ack.acked_packets
            self.marked += ack.marked
            self.lost += ack.lost
            if ack.delivery_rate is not None:
                self.sample = ack.delivery_rate
            if self.next_step is None:
                self.next_step = ack.now + period
            # At most 100 steps are made up after a long silence; the rest is skipped.
            missed = min(int((ack.now - self.next_step) // period) + 1, 100)
            if missed > 0:
                self.next_step = max(self.next_step + missed * period, ack.now)
            for _ in range(missed):
                self.decide(ack)

        def on_timeout(self, now: float) -> None:
            self.lost += self.packet

        def decide(self, ack: Ack) -> None:
            sent = self.acked + self.lost
            observation = np.array(
                [
                    ack.smoothed_rtt,
                    ack.min_rtt,
                    self.acked * 8e-6 / period,
                    self.sample * 1e-6,
                    self.lost / sent if sent else 0.0,
                    self.marked / self.packets if self.packets else 0.0,
                    ack.in_flight / self.packet,
                    self.window / self.packet,
                ],
                np.float32,
            )
            self.acked = self.packets = self.marked = self.lost = 0
            action = min(max(float(policy(observation)), -1.0), 1.0)
            least, most = WINDOW_PACKETS
            self.window = min(max(self.window * 2**action, least * self.packet), most * self.packet)

    return Trained


gymnasium.register(
    id="weirlab/CongestionControl-v0",
    entry_point="weirlab.gym:CongestionControl",
    vector_entry_point="weirlab.gym:vector_of",
)
