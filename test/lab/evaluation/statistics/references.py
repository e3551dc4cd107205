"""Makes references.json: values of scikit-learn, SciPy, statsmodels and krippendorff for data drawn by seed.

    pip install scikit-learn==1.9.1 scipy==1.17.1 statsmodels==0.15.0 krippendorff==0.9.0
    python references.py > references.json
"""

import json

import krippendorff
import numpy as np
from scipy import stats
from sklearn import metrics
from statsmodels.stats import contingency_tables, inter_rater, multitest, proportion

rng = np.random.default_rng(7)
LABELS = ["a", "b", "c"]


def classification():
    gold = [LABELS[at] for at in rng.choice(3, 60, p=[0.6, 0.3, 0.1])]
    predicted = [label if rng.random() < 0.7 else LABELS[rng.integers(3)] for label in gold]
    precision, recall, f1, support = metrics.precision_recall_fscore_support(
        gold, predicted, labels=LABELS, zero_division=0
    )
    return {
        "gold": "".join(gold),
        "predicted": "".join(predicted),
        "accuracy": metrics.accuracy_score(gold, predicted),
        "macroF1": metrics.f1_score(gold, predicted, average="macro"),
        "precision": precision.tolist(),
        "recall": recall.tolist(),
        "f1": f1.tolist(),
        "support": support.tolist(),
    }


def correlation(one, other):
    spearman = stats.spearmanr(one, other)
    kendall = stats.kendalltau(one, other, method="asymptotic")
    return {
        "one": one,
        "other": other,
        "spearman": {"value": spearman.statistic, "pValue": spearman.pvalue},
        "kendall": {"value": kendall.statistic, "pValue": kendall.pvalue},
    }


def tied():
    one = rng.integers(1, 6, 40)
    other = np.clip(one + rng.integers(-2, 3, 40), 1, 5)
    return correlation(one.tolist(), other.tolist())


def untied():
    one = np.round(rng.normal(size=25), 3)
    return correlation(one.tolist(), np.round(rng.normal(size=25) - one, 3).tolist())


def ndcg():
    gains = rng.integers(0, 6, 15).tolist()
    rows = [rng.integers(0, 5, 15).tolist(), rng.permutation(15).tolist(), [1] * 15]
    return {"gains": gains, "rows": [{"scores": row, "value": metrics.ndcg_score([gains], [row])} for row in rows]}


def alpha():
    rated = [
        [int(np.clip(value + rng.integers(-1, 2), 1, 5)) for _ in range(rng.integers(1, 5))]
        for value in rng.integers(1, 6, 14)
    ]
    most = max(map(len, rated))
    data = np.array([[unit[at] if at < len(unit) else np.nan for unit in rated] for at in range(most)])
    levels = ["nominal", "ordinal", "interval"]
    return {
        "units": rated,
        **{level: krippendorff.alpha(reliability_data=data, level_of_measurement=level) for level in levels},
    }


def fleiss():
    ratings = [rng.multinomial(4, [0.5, 0.3, 0.2]).tolist() for _ in range(12)]
    return {"ratings": ratings, "kappa": inter_rater.fleiss_kappa(np.array(ratings))}


def mcnemar():
    pairs = [(3, 12), (0, 5), (7, 7), (1, 0)]
    return [
        {"onlyFirst": one, "onlySecond": two, "p": contingency_tables.mcnemar([[10, one], [two, 10]], exact=True).pvalue}
        for one, two in pairs
    ]


def holm():
    p_values = [0.01, 0.04, 0.03, 0.2, 0.005]
    return {"pValues": p_values, "adjusted": multitest.multipletests(p_values, method="holm")[1].tolist()}


def wilson():
    rows = []
    for hits, items in [(0, 10), (7, 10), (33, 40), (400, 400)]:
        low, high = proportion.proportion_confint(hits, items, method="wilson")
        rows.append({"hits": hits, "items": items, "low": low, "high": high})
    return rows


def quantiles():
    values = np.sort(rng.normal(size=25))
    shares = [0.025, 0.5, 0.975]
    return {"values": values.tolist(), "shares": shares, "quantiles": np.quantile(values, shares).tolist()}


def repeats():
    gold = rng.choice(["hate", "non-hate"], 30).tolist()
    labels = [[rng.choice([one, "hate", "non-hate", ""], p=[0.6, 0.2, 0.15, 0.05]) for one in gold] for _ in range(5)]
    table, _ = inter_rater.aggregate_raters(np.array(labels).T)
    accuracies = [metrics.accuracy_score(gold, one) for one in labels]
    f1s = [metrics.f1_score(gold, one, average="macro", labels=["hate", "non-hate"]) for one in labels]
    return {
        "gold": gold,
        "labels": [[str(label) for label in one] for one in labels],
        "kappa": inter_rater.fleiss_kappa(table),
        "mean": {"accuracy": np.mean(accuracies), "macroF1": np.mean(f1s)},
        "sd": {"accuracy": np.std(accuracies, ddof=1), "macroF1": np.std(f1s, ddof=1)},
    }


made = [classification, tied, untied, ndcg, fleiss, alpha, mcnemar, holm, wilson, quantiles, repeats]
print(json.dumps({make.__name__: make() for make in made}, indent=1))
