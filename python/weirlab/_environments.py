"""The environments of Gymnasium by name: ``gymnasium.make("weirlab/CongestionControl-v0")``.

Gymnasium calls :func:`register` when it is imported. This module imports nothing of it before.
"""

from __future__ import annotations


def register() -> None:
    """Registers the environments, in the namespace of the package."""
    from gymnasium.envs.registration import register as register_environment

    register_environment(
        id="CongestionControl-v0",
        entry_point="weirlab.gym:CongestionControl",
        vector_entry_point="weirlab.gym:vector_of",
        disable_env_checker=True,
    )
