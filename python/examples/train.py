"""Trains a linear policy with the cross-entropy method, and compares it with CUBIC and BBR.

    python python/examples/train.py --out trained

The paths are those of the RFC 9743 suite with one flow. The policy multiplies the window by

    2^(step / rtt · (w0 + w1 · log2(rtt / least rtt) + w2 · loss))

at each step, where ``loss`` is the share of bytes lost in it. The three weights are learned in
episodes of ten seconds, and evaluated in complete runs with seeds that are not used in training.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import weirlab as w
from weirlab.gym import VectorCongestionControl, controller_of

SUITE = Path(__file__).parents[2] / "suites" / "rfc9743"
#: Files of the suite, with their descriptions.
PATHS = {
    "alone": "20 Mbit/s, 40 ms",
    "fading": "3 to 20 Mbit/s, 50 ms",
    "wifi": "802.11g, weak signal",
    "satellite": "30 Mbit/s, 600 ms, loss",
}
CONTROLLERS = ("cubic", "bbr", "trained")
STEP_S = 0.02
#: Length of a training episode.
EPISODE_S = 10.0
#: Training uses seeds from this one on; the evaluation uses smaller ones.
FIRST_TRAINING_SEED = 1_000_000


def actions(observations, weights):
    """The action for each row of observations, with the weights in the same row."""
    rtt, least, loss = observations[:, 0], observations[:, 1], observations[:, 4]
    known = least > 0
    rtt, least = np.where(known, rtt, 1.0), np.where(known, least, 1.0)
    queueing = np.log2(np.maximum(rtt / least, 1.0))
    wanted = weights[:, 0] + weights[:, 1] * queueing + weights[:, 2] * loss
    return np.where(known, np.clip(wanted * STEP_S / rtt, -1, 1), 0.0)


def scenarios():
    """The scenarios of the paths by name."""
    return {name: w.Scenario.load(SUITE / f"{name}.toml") for name in PATHS}


def returns(environment, weights, copies, seed):
    """The mean reward of each row of weights over the paths, with the same seeds for all rows."""
    count = len(weights)
    seeds = [seed + path for path in range(copies)] * count
    observations, _ = environment.reset(seed=seeds)
    of_each = np.repeat(weights, copies, axis=0)
    total = np.zeros(count * copies)
    steps = int(EPISODE_S / STEP_S)
    for _ in range(steps):
        chosen = actions(observations, of_each).astype(np.float32)[:, None]
        observations, rewards, *_ = environment.step(chosen)
        total += rewards
    return total.reshape(count, copies).mean(axis=1) / steps


def train(generations=15, population=16, seed=1):
    """The weights, and the mean reward of the best quarter of each generation."""
    short = {"run.duration": f"{EPISODE_S}s", "run.warmup": "0s"}
    paths = [scenario.set(short) for scenario in scenarios().values()]
    environment = VectorCongestionControl(paths * population, "subject", step=STEP_S)
    generator = np.random.default_rng(seed)
    mean, deviation = np.array([0.5, -0.5, -0.5]), np.array([0.5, 0.5, 1.0])
    best = max(population // 4, 2)
    history = []
    for number in range(generations):
        weights = mean + deviation * generator.standard_normal((population, 3))
        first = FIRST_TRAINING_SEED + number * len(paths)
        gained = returns(environment, weights, len(paths), first)
        elite = weights[np.argsort(gained)[-best:]]
        # A minimum deviation keeps the search from converging too early.
        mean, deviation = elite.mean(axis=0), elite.std(axis=0) + 0.02
        history.append(float(np.sort(gained)[-best:].mean()))
    return mean, history


def register(weights):
    """Registers the policy as a controller with the name ``trained``."""
    rows = np.asarray(weights)[None, :]

    def policy(observation):
        return actions(observation[None, :], rows)[0]

    w.register("trained")(controller_of(policy, step=STEP_S))


def judge(seeds, change=None):
    """A row for each path and controller: goodput and queueing delay with 95 % intervals."""
    rows = []
    for name, scenario in scenarios().items():
        scenario = scenario.set(change) if change else scenario
        choice = {"flow.subject.transport.controller": list(CONTROLLERS)}
        results = w.sweep(scenario, choice, seeds=seeds)
        goodput = results.mean("goodput", by="controller").rows()
        delay = results.mean("queueing_delay_s_p95", by="controller").rows()
        for of_goodput, of_delay in zip(goodput, delay):
            row = {"path": name, "controller": of_goodput["controller"]}
            row["runs"] = of_goodput["runs"]
            for key in ("mean", "low_95", "high_95"):
                row["goodput_mbps_" + key] = of_goodput[key] * 1e-6
                row["queueing_delay_p95_ms_" + key] = of_delay[key] * 1e3
            rows.append(row)
    return rows


def table(rows):
    """The rows as Markdown."""

    def cell(row, measure, digits):
        mean = row[measure + "_mean"]
        half = (row[measure + "_high_95"] - row[measure + "_low_95"]) / 2
        return f"{mean:.{digits}f} ± {half:.{digits}f}"

    lines = [
        "| path | controller | goodput, Mbit/s | queueing delay, 95th percentile, ms |",
        "|---|---|---|---|",
    ]
    for row in rows:
        cells = [f"`{row['path']}`: {PATHS[row['path']]}", row["controller"]]
        cells += [cell(row, "goodput_mbps", 2), cell(row, "queueing_delay_p95_ms", 1)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(rows, file):
    """A panel for each path: goodput over delay, with 95 % intervals."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot

    matplotlib.rcParams |= {"svg.hashsalt": "weir", "svg.fonttype": "none"}
    figure, panels = pyplot.subplots(1, len(PATHS), figsize=(11, 3), layout="constrained")
    for panel, name in zip(panels, PATHS):
        measures = ("queueing_delay_p95_ms", "goodput_mbps")
        of_path = [row for row in rows if row["path"] == name]
        for row in of_path:
            x, y = (row[measure + "_mean"] for measure in measures)
            errors = [
                [[row[m + "_mean"] - row[m + "_low_95"]], [row[m + "_high_95"] - row[m + "_mean"]]]
                for m in measures
            ]
            panel.errorbar(x, y, *reversed(errors), fmt="o", label=row["controller"], capsize=2)
        panel.set_title(f"{name}\n{PATHS[name]}", fontsize=9)
        panel.set_xlim(0, 1.1 * max(row[measures[0] + "_high_95"] for row in of_path))
        panel.set_ylim(0, 1.1 * max(row[measures[1] + "_high_95"] for row in of_path))
        panel.set_xlabel("queueing delay, p95, ms")
    panels[0].set_ylabel("goodput, Mbit/s")
    panels[0].legend(frameon=False, loc="lower right")
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)


def main(arguments=None):
    """Trains and evaluates a policy; writes ``trained.json``, ``trained.md``, ``trained.svg``."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--generations", type=int, default=15)
    parser.add_argument("--population", type=int, default=16)
    parser.add_argument("--seeds", default="1..20", help="seeds of the runs that judge")
    parser.add_argument("--duration", help="of the runs that judge; as in the suite if absent")
    parser.add_argument("--out", type=Path, default=Path("trained"))
    options = parser.parse_args(arguments)
    begun = time.monotonic(), time.process_time()
    weights, history = train(options.generations, options.population)
    elapsed, busy = time.monotonic() - begun[0], time.process_time() - begun[1]
    print(f"trained in {elapsed:.1f} s ({busy:.1f} s of CPU): {weights.round(3).tolist()}")
    print("reward by generation:", " ".join(f"{value:.2f}" for value in history))
    register(weights)
    change = {"run.duration": options.duration, "run.warmup": "0s"} if options.duration else None
    rows = judge(options.seeds, change)
    options.out.mkdir(parents=True, exist_ok=True)
    document = {"weights": weights.tolist(), "history": history, "rows": rows}
    (options.out / "trained.json").write_text(json.dumps(document, indent=1) + "\n")
    (options.out / "trained.md").write_text(table(rows) + "\n")
    draw(rows, options.out / "trained.svg")
    print(table(rows))
    return document


if __name__ == "__main__":
    main()
