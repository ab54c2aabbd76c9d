"""A shop as a new user would have it: two tables, offers and payments, with all that goes wrong in such data."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

FIRST = pd.Timestamp("2024-01-01 08:00")


@dataclass(frozen=True, eq=False)
class Shop:
    """Both tables, how many rows of each fault are in them, and what the variants truly pay per offer."""

    offers: pd.DataFrame
    payments: pd.DataFrame
    duplicates: int
    orphans: int
    late: int
    truth: dict[str, float]
    until: pd.Timestamp
    """Up to when payments are known."""
    later: dict[str, float]
    """What the offers of each variant paid after that, within the window."""


def make_shop(count: int, *, days: int = 120, window: int = 60, zeros: float = 0.7, seed: int = 0) -> Shop:
    """Offers of five variants over some days, and what they paid; refunds, duplicates, orphans, late payments."""
    random = np.random.default_rng(seed)
    names = np.array(["A", "B", "C", "D", "E"])
    worth = np.array([20.0, 22.0, 24.0, 26.0, 30.0])
    arm = random.integers(0, 5, count)
    made = np.sort(random.random(count) ** 0.7 * days)
    offers = pd.DataFrame(
        {
            "offer_id": [f"o{number}" for number in range(count)],
            "offered_at": FIRST + pd.to_timedelta(np.round(made * 86_400), unit="s"),
            "variant": names[arm],
            "probability": 0.2,
            "customer": random.integers(0, count, count),
        }
    )
    paying = np.flatnonzero(random.random(count) >= zeros)
    row = np.repeat(paying, random.integers(1, 4, len(paying)))
    amount = worth[arm[row]] * random.lognormal(0, 0.5, len(row)) / 2
    refund = random.random(len(row)) < 0.05
    age = random.beta(1, 2, len(row)) * window
    payments = pd.DataFrame(
        {
            "payment_id": np.arange(len(row)),
            "offer_id": offers["offer_id"].to_numpy()[row],
            "paid_at": FIRST + pd.to_timedelta(np.round((made[row] + age) * 86_400), unit="s"),
            "amount": np.round(np.where(refund, -amount, amount), 2),
        }
    )
    mean = 2.0 * np.exp(0.125) / 2 * (1 - 2 * 0.05) * (1 - zeros)
    until = FIRST + pd.Timedelta(days=days)
    known = payments["paid_at"] <= until
    later = payments["amount"].where(~known, 0.0).groupby(names[arm[row]]).sum().to_dict()
    payments = payments[known]
    few = max(count // 200, 1)
    orphans = payments.head(few).assign(offer_id="nobody", payment_id=np.arange(few) + 10**8)
    late = payments.head(few).assign(payment_id=np.arange(few) + 2 * 10**8)
    late["paid_at"] = late["offer_id"].map(offers.set_index("offer_id")["offered_at"]) + pd.Timedelta(days=window)
    tables = [payments, payments.tail(few), orphans, late]
    truth = dict(zip(names.tolist(), (worth * mean).tolist(), strict=True))
    return Shop(offers, pd.concat(tables), few, few, few, truth, until, later)
