"""Writes scipy.json: what scipy 1.17.1 and numpy 2.4.6 say on generated data.

The file holds no data but the recipe of each case; scipy.rs builds the same
columns from it. Run: pip install scipy==1.17.1 && python scipy_reference.py
"""

import json
import math
import pathlib
import warnings

import numpy
import scipy
from scipy import stats

MASK = 2**64 - 1


def splitmix(seed):
    """Splitmix64, one 64-bit integer after the other."""
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def draw(random, levels):
    """An integer below `levels`, or for 0 levels a bell-shaped float."""
    if levels:
        return float(next(random) % levels)
    total = 0.0
    for _ in range(12):
        total += (next(random) >> 11) * 2.0**-53
    return total - 6.0


def columns(recipe):
    """x random, y and z random plus a slope times x."""
    random = splitmix(recipe["seed"])
    x, y, z = [], [], []
    for _ in range(recipe["n"]):
        x.append(draw(random, recipe["x_levels"]))
        y.append(recipe["y_slope"] * x[-1] + draw(random, recipe["y_levels"]))
        z.append(recipe["z_slope"] * x[-1] + draw(random, recipe["z_levels"]))
    return numpy.array(x), numpy.array(y), numpy.array(z)


def defined(value):
    return None if math.isnan(value) else float(value)


def tau_b(x, y):
    return defined(stats.kendalltau(x, y).statistic) if len(x) > 1 else None


def tau_a(x, y):
    """(C - D) / pairs; C - D is the integer that tau-b times its root is."""
    if len(x) < 2:
        return None
    pairs = math.comb(len(x), 2)
    tied = [sum(math.comb(int(c), 2) for c in numpy.unique(v, return_counts=True)[1]) for v in (x, y)]
    balance = round((tau_b(x, y) or 0.0) * math.sqrt((pairs - tied[0]) * (pairs - tied[1])))
    if len(x) <= 2000:
        signs = numpy.sign(x[:, None] - x) * numpy.sign(y[:, None] - y)
        assert balance == signs.sum() / 2
    return balance / pairs


def partial(x, y, z):
    xy, xz, yz = tau_b(x, y), tau_b(x, z), tau_b(y, z)
    if None in (xy, xz, yz):
        return None
    # scipy divides by two roots, which may leave a perfect tau an ulp short.
    if any(math.isclose(abs(t), 1.0, abs_tol=1e-12) for t in (xz, yz)):
        return None
    return (xy - xz * yz) / math.sqrt((1 - xz**2) * (1 - yz**2))


def case(name, n, seed, x_levels, y_levels, z_levels, y_slope=0.0, z_slope=0.0):
    recipe = dict(name=name, n=n, seed=seed, x_levels=x_levels, y_levels=y_levels,
                  z_levels=z_levels, y_slope=y_slope, z_slope=z_slope)
    x, y, z = columns(recipe)
    enough = n > 1
    return recipe | dict(
        tau_b=tau_b(x, y),
        tau_a=tau_a(x, y),
        spearman=defined(stats.spearmanr(x, y).statistic) if enough else None,
        pearson=defined(stats.pearsonr(x, y).statistic) if enough else None,
        partial=partial(x, y, z),
    )


def percentile(n, seed, levels, share):
    random = splitmix(seed)
    values = [draw(random, levels) for _ in range(n)]
    return dict(n=n, seed=seed, levels=levels, share=share, expected=float(numpy.quantile(values, share)))


def main():
    warnings.simplefilter("ignore", stats.ConstantInputWarning)
    warnings.simplefilter("ignore", stats.NearConstantInputWarning)
    assert scipy.__version__ == "1.17.1" and numpy.__version__ == "2.4.6"
    cases = [
        case("no rows", 0, 1, 5, 5, 5),
        case("one row", 1, 2, 5, 5, 5),
        case("two rows", 2, 3, 0, 0, 0),
        case("two rows, opposite", 2, 4, 0, 1, 0, -1.0),
        case("two rows, tied", 2, 5, 1, 9, 9),
        case("three rows", 3, 6, 0, 0, 0),
        case("tie-heavy", 500, 7, 4, 3, 5, 1.0, 1.0),
        case("two levels", 1000, 8, 2, 2, 2, 1.0, 1.0),
        case("constant x", 300, 9, 1, 7, 7),
        case("constant y", 300, 10, 7, 1, 7),
        case("constant both", 300, 11, 1, 1, 1),
        case("anti-correlated", 1000, 12, 0, 0, 0, -3.0, 1.0),
        case("exactly opposite", 1000, 13, 0, 1, 0, -1.0),
        case("given orders as x", 200, 14, 0, 0, 1, 1.0, 2.0),
        case("heavy duplicates", 2000, 15, 20, 2, 3, 2.0, -1.0),
        case("normal", 2000, 16, 0, 0, 0, 0.5, 0.5),
        case("normal, offset scale", 2000, 17, 0, 0, 0, 1e6, -0.25),
        case("large, no ties", 100_000, 18, 0, 0, 0, 0.7, 0.7),
        case("large, ties", 100_000, 19, 50, 30, 40, 1.0, 1.0),
        case("large, few levels", 100_000, 20, 3, 2, 3, 1.0, 0.0),
        case("large against few levels", 100_000, 21, 0, 4, 0, 0.0, 1.0),
    ]
    percentiles = [
        percentile(n, seed, levels, share)
        for seed, (n, levels) in enumerate([(1, 0), (2, 0), (7, 0), (40, 6), (41, 0), (999, 0), (1000, 0)])
        for share in (0.0, 0.025, 0.5, 0.975, 1.0)
    ]
    lines = dict(cases=cases, percentiles=percentiles)
    body = ",\n".join(
        json.dumps(key) + ": [\n" + ",\n".join(map(json.dumps, rows)) + "\n]" for key, rows in lines.items()
    )
    pathlib.Path(__file__).with_name("scipy.json").write_text("{\n" + body + "\n}\n")


main()
