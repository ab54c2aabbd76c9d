"""What does a round of each policy cost, against TP-UCB-FR's in the same run?

Setting 1 of the paper: 10 arms, span 100, 20 groups, 100,000 rounds, compiled, without a log. Every figure is processor
time with the draws of the rewards, the best of several turns; each policy takes its turn beside TP-UCB-FR, so that
the ratio is one of the same minute. The last column is what the ratio may be at most: 4 for indices and for simple
policies, 8 for normal posteriors, 40 for Beta posteriors of groups (200 Beta draws a round), 60 for a path.

    python benchmarks/policies.py [--horizon 100000] [--turns 5] [POLICY ...]
"""

import argparse
import time

from tpstream import Scenario, simulate

REFERENCE = "tp-ucb-fr"
INDEX, NORMAL, BETA, PATH = 4, 8, 40, 60
LIMITS = {
    "ucb1": INDEX,
    "delayed-ucb1": INDEX,
    "delayed-ucb1:groups=auto": INDEX,
    "tp-ucb-fr:groups=auto": INDEX,
    "tp-ucb-ew": INDEX,
    "tp-ucb-pooled": INDEX,
    "tp-ucb-fr-exact": INDEX,
    "tp-ucb-fr-exact:form=value": INDEX,
    "delayed-kl-ucb": INDEX,
    "delayed-ucb-v": INDEX,
    "delayed-moss": INDEX,
    "delayed-ucb1-tuned": INDEX,
    "beta-ucb": INDEX,
    "gittins": INDEX,
    "completion-ucb": INDEX,
    "epsilon-greedy": INDEX,
    "epsilon-greedy:hears=closed": INDEX,
    "explore-then-commit": INDEX,
    "uniform": INDEX,
    "permuted-blocks": INDEX,
    "delayed-thompson": NORMAL,
    "delayed-thompson:family=gauss": NORMAL,
    "group-thompson": NORMAL,
    "group-thompson:variance=empirical": NORMAL,
    "part-thompson": NORMAL,
    "completion-thompson": NORMAL,
    "group-thompson:family=beta": BETA,
    "progressive-thompson": PATH,
    "progressive-thompson:hears=closed": PATH,
}


def spend(scenario: Scenario, policy: str) -> float:
    """Seconds of processor time of one run."""
    began = time.thread_time()
    simulate(scenario, policy, engine="compiled")
    return time.thread_time() - began


def main() -> None:
    """Print a line for each policy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", default=list(LIMITS))
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    scenario = Scenario.load("setting-1").with_(horizon=arguments.horizon)
    print(f"{'policy':40}{'ns a round':>12}{'tp-ucb-fr':>12}{'ratio':>8}{'at most':>9}")
    for policy in arguments.policies:
        both = (policy, REFERENCE)
        for name in both:
            spend(scenario.with_(horizon=300), name)  # compile first
        best = [
            min(times)
            for times in zip(*([spend(scenario, n) for n in both] for _ in range(arguments.turns)), strict=True)
        ]
        ours, reference = (seconds / arguments.horizon * 1e9 for seconds in best)
        limit = LIMITS.get(policy)
        print(f"{policy:40}{ours:>12,.0f}{reference:>12,.0f}{ours / reference:>8.1f}{limit or '':>9}", flush=True)


if __name__ == "__main__":
    main()
