"""Makes people.json: a planted set of people's verdicts, and what statsmodels, scikit-learn and krippendorff say of it.

    pip install scikit-learn==1.9.1 statsmodels==0.15.0 krippendorff==0.9.0
    python people.py > people.json
"""

import json

import krippendorff
import numpy as np
from sklearn import metrics
from statsmodels.stats import proportion

rng = np.random.default_rng(41)
LABELS = ["hate", "non-hate"]


def other(label):
    return LABELS[1 - LABELS.index(label)]


def planted(n):
    """Each: the human label, the machine's, its model, prompts, language, whether it was drawn for audit, a second opinion."""
    rows = []
    for _ in range(n):
        human = LABELS[int(rng.random() < 0.6)]
        lang = ["de", "ko", "ar"][rng.integers(3)]
        model = ["m1", "m2"][rng.integers(2)]
        right = {"m1": 0.9, "m2": 0.7}[model] - (0.15 if lang == "ar" else 0)
        machine = human if rng.random() < right else other(human)
        audited = bool(rng.random() < 0.3)
        second = None
        if rng.random() < 0.4:
            second = human if rng.random() < 0.85 else other(human)
        rows.append([human, machine, model, ["p1", "p2"][rng.integers(2)], lang, audited, second])
    return rows


def share(pairs):
    hits = sum(a == b for a, b in pairs)
    low, high = proportion.proportion_confint(hits, len(pairs), method="wilson")
    return {"verdicts": len(pairs), "agreeing": hits, "low": low, "high": high}


def alpha(pairs):
    numbers = np.array([[LABELS.index(a) for a, _ in pairs], [LABELS.index(b) for _, b in pairs]])
    return krippendorff.alpha(reliability_data=numbers, level_of_measurement="nominal")


def macro_f1(pairs):
    return metrics.f1_score([a for a, _ in pairs], [b for _, b in pairs], labels=LABELS, average="macro")


def between_percentiles(pairs, statistic, resamples=4000):
    """The plain percentile interval; ours is widened for few units, by less than a hundredth at these numbers."""
    draws = np.random.default_rng(7)
    values = []
    for _ in range(resamples):
        values.append(statistic([pairs[at] for at in draws.integers(len(pairs), size=len(pairs))]))
    return [float(np.quantile(values, 0.025)), float(np.quantile(values, 0.975))]


def of(rows, which):
    pairs = [(row[0], row[1]) for row in rows]
    parts = {"all": {"": pairs}}
    for part, at in [("label", 0), ("language", 4), ("model", 2), ("prompts", 3)]:
        parts[part] = {v: [(r[0], r[1]) for r in rows if r[at] == v] for v in sorted({r[at] for r in rows})}
    return {
        "beside": "machine",
        "drawn": which,
        "parts": {part: {value: share(own) for value, own in values.items()} for part, values in parts.items()},
        "alpha": alpha(pairs),
        "alphaInterval": between_percentiles(pairs, alpha),
        "macroF1": macro_f1(pairs),
        "macroF1Interval": between_percentiles(pairs, macro_f1),
    }


rows = planted(240)
people = [(row[0], row[6]) for row in rows if row[6] is not None]
print(
    json.dumps(
        {
            "rows": rows,
            "machine": [of([r for r in rows if r[5]], "audit"), of([r for r in rows if not r[5]], "chosen")],
            "people": {**share(people), "alpha": alpha(people), "alphaInterval": between_percentiles(people, alpha)},
        }
    )
)
