"""Which methods run on which problems: every refusal, and what it says."""

import re
from collections import Counter
from types import SimpleNamespace

import pytest

import frankwolfe as fw
from frankwolfe.cluster.dask_source import DaskSource
from frankwolfe.losses import as_loss
from frankwolfe.problem.requirements import LIKELY, REFUSALS, SIDE, STREAM, Facts, needs_of, refuse
from frankwolfe.shards.disk import ShardSource
from tests.losses.test_unbounded import Poisson

LOGISTIC, UNBOUNDED = fw.Logistic(), as_loss(Poisson())
STORE = ShardSource(SimpleNamespace(name="rows", more_memory="keep all rows in memory: memory=5000"))
DASK = DaskSource(None)

REFUSED = [
    ("fw", Facts(fw.Hinge()), "a smooth loss, but Hinge has a kink: use method='auto' .*, or .* 'squared-hinge'"),
    ("sfw", Facts(fw.Pinball()), "a smooth loss, but Pinball has a kink: use method='auto' .* or .* 'huber'"),
    ("fw", Facts(LOGISTIC, side=True), "a problem without side constraints, but .*: use method='auto'"),
    ("shcgm, line-search", Facts(LOGISTIC, side=True), "the exact objective .* its own steps, 'open-loop'"),
    (
        "saga",
        Facts(LOGISTIC, source=STORE),
        r"all rows in memory, but rows does not fit .*: use 'auto', 'sfw' or 'fw', .*memory=5000",
    ),
    ("momentum", Facts(LOGISTIC, source=DASK), "all rows in this process, but they are on a cluster: use 'auto'"),
    ("storc", Facts(UNBOUNDED), "bounded curvature, but the smoothness of Poisson is infinite .*: .*'line-search'"),
    ("goldfarb-away", Facts(UNBOUNDED), "bounded curvature, but the smoothness of Poisson is infinite"),
    ("away", Facts(LOGISTIC, factored=(12, 9)), "atoms that .* 12 x 9 entries: use 'auto'"),
    (
        "sfw",
        Facts(LOGISTIC, stream=True),
        "read again, but rows of a stream come once: use method='auto'",
    ),
    (LIKELY, Facts(fw.Sigmoid()), "a convex loss, but Sigmoid is not convex: use stop='proven'"),
    (LIKELY, Facts(LOGISTIC, intercept=True), "no intercept, .* but the problem has one: use stop='proven'"),
    (LIKELY, Facts(UNBOUNDED), "a conjugate, but Poisson does not define it: use stop='proven', or define it"),
    (LIKELY, Facts(LOGISTIC, table=False), "a method whose table .* 'who' has none: use 'sfw'"),
    (STREAM, Facts(fw.Hinge(), stream=True), "smooth, but Hinge has a kink: use fit, or .* 'squared-hinge'"),
    (
        DASK.needs,
        Facts(fw.Hinge(), source=DASK),
        r"a smooth loss, .* a kink: load the data .* \(X.compute\(\)\)",
    ),
    (
        "shcgm",
        Facts(UNBOUNDED, side=True),
        "a loss with a conjugate, .* but Poisson does not define it: use method='auto', or define it",
    ),
    (SIDE, Facts(fw.Sigmoid()), "a convex loss, .* but Sigmoid is not convex: use one such as 'logistic'"),
]


def needs(given):
    if isinstance(given, tuple):
        return given
    name, _, step = given.partition(", ")
    method = fw.methods.METHODS[name]
    return needs_of(method._replace(step=fw.methods.LineSearch()) if step else method)


@pytest.mark.parametrize(("given", "facts", "sentence"), REFUSED)
def test_a_refusal_says_what_is_needed_and_what_to_use(given, facts, sentence):
    with pytest.raises(ValueError, match=f"^who needs .*{sentence}"):
        refuse("who", needs(given), facts, "who")


def test_every_refusal_is_tested():
    said = Counter(refusal.need for refusal in (*REFUSALS, *STORE.refusals, *DASK.refusals))
    for given, facts, _ in REFUSED:
        with pytest.raises(ValueError, match="needs") as caught:
            refuse("who", needs(given), facts, "who")
        said.subtract([re.match("who needs (.*), but", str(caught.value))[1]])
    assert [need for need, left in said.items() if left > 0] == []


def test_a_problem_that_serves_every_need_is_accepted():
    for method in fw.methods.METHODS.values():
        refuse(method.name, needs_of(method), Facts(LOGISTIC, intercept=True))


def test_the_methods_for_data_that_is_not_in_memory():
    def runs(facts):
        found = set()
        for method in fw.methods.METHODS.values():
            try:
                refuse(method.name, needs_of(method), facts)
            except ValueError:
                continue
            found.add(method.name)
        return found

    full = {"auto", "corrective", "fw", "away", "pairwise", "blended-pairwise"}
    assert runs(Facts(LOGISTIC, source=DASK)) == {*full, "sfw", "stochastic-pairwise", "stochastic-away"}
    assert runs(Facts(LOGISTIC, stream=True)) == {"momentum"}
    assert {*full, "sfw", "momentum", "shcgm"} <= runs(Facts(LOGISTIC, source=STORE))
    assert not {"saga", "svrf", "storc", "goldfarb-away"} & runs(Facts(LOGISTIC, source=STORE))
