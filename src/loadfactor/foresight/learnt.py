"""Run times learnt from the jobs that ended: what others like this one did that ran as long as it has already."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from loadfactor.errors import InputError
from loadfactor.foresight.features import JobFeatures
from loadfactor.foresight.runtimes import LEAST_SECONDS, outgrown
from loadfactor.foresight.windows import SortedWindow

FEATURES = ("user", "name", "gpus", "kind", "limit")
# What two jobs may have in common, the closest kinship first. The last one takes in every job.
KINSHIPS = (
    ("user", "name", "gpus", "limit"),
    ("user", "name", "gpus"),
    ("name", "gpus", "limit"),
    ("user", "gpus", "limit"),
    ("kind", "gpus", "limit"),
    ("gpus", "limit"),
    ("limit",),
    ("name", "gpus"),
    ("user", "gpus"),
    ("kind", "gpus"),
    ("gpus",),
    (),
)
EVERY_JOB = len(KINSHIPS) - 1
LIMITS_PER_DOUBLING = 2  # limits within a factor of 1.4 are alike
MEMORY = 0.998  # by which an error counts less with every job that ends: half after 346
EVERY_RUN = -1.0  # every run was longer
FIRST_HOUR = 3600.0  # what a first job without a limit is given: nothing is known yet

Values = tuple[object, ...]


class LearntRuntime:
    """A quantile of the run times of the last jobs of the same kin that ran longer than this one has.

    Kin is tried from the kinship that has told run times best so far to the one that did worst, until at least
    `least_survivors` of its last `window` jobs ran longer than the job has. How well a kinship tells is the pinball
    loss of the logarithm of its answer at submission, relative to the same jobs' loss under the quantile of all jobs,
    averaged with exponential forgetting. Never above the limit; where there is no kin, the limit; beyond the limit or
    without one, twice the time run.

    The quantiles say how the two ways of being wrong compare: c / (1 + c) is best where a GPU-hour that was planned too
    short costs c times one planned too long (the newsvendor's rule; Arrow, Harris and Marschak 1951). `quantile` is
    that of when what runs will end; `planned_quantile`, that of waiting jobs, is higher, because a job that outlives
    its plan delays the larger one behind it, and one that ends early makes room.

    Everything is a function of the order of `learn`; `state` and `restored` write and read it as JSON.

    Raises `InputError` where a quantile is not within (0, 1) or a count is not positive.
    """

    def __init__(
        self,
        quantile: float = 0.5,
        window: int = 500,
        least_survivors: int = 5,
        planned_quantile: float = 0.95,
    ) -> None:
        for name, given in (("quantile", quantile), ("planned_quantile", planned_quantile)):
            if not 0 < given < 1:
                raise InputError.of(name, f"{given} is no quantile", "choose one between 0 and 1, without the ends")
        if not 0 < least_survivors <= window:
            fact = f"{least_survivors} survivors of a window of {window}"
            raise InputError.of("least_survivors", fact, "choose at least 1 and no more than the window")
        self.quantile = quantile
        self.planned_quantile = planned_quantile
        self.window = window
        self.least_survivors = least_survivors
        self._histories: tuple[dict[object, SortedWindow], ...] = tuple({} for _ in KINSHIPS)
        self._losses = [0.0] * len(KINSHIPS)
        self._yardsticks = [0.0] * len(KINSHIPS)
        self._ranking = tuple(range(len(KINSHIPS)))

    def estimate(self, job_id: str, features: JobFeatures, elapsed_seconds: float) -> float:
        """Return the expected total run time in seconds; see the class."""
        return self._answer(features, elapsed_seconds, self.quantile)

    def planned(self, job_id: str, features: JobFeatures) -> float:
        """Return the run time in seconds to plan with for a job that waits; see the class."""
        return self._answer(features, 0.0, self.planned_quantile)

    def _answer(self, features: JobFeatures, elapsed_seconds: float, quantile: float) -> float:
        limit = features.limit_seconds
        if limit is not None and elapsed_seconds >= limit:
            return outgrown(elapsed_seconds)
        history = self._history(_values(features), elapsed_seconds)
        if history is not None:
            learnt = history.quantile_above(elapsed_seconds, quantile)
            return learnt if limit is None else min(limit, learnt)
        return max(FIRST_HOUR, outgrown(elapsed_seconds)) if limit is None else limit

    def learn(self, job_id: str, features: JobFeatures, run_seconds: float) -> None:
        """Remember a job that has ended, under every kinship that it has, after rating what each would have said."""
        values = _values(features)
        unknown = {place for place, value in enumerate(values) if value is None}
        kin = [(at, _KEYS[at](values)) for at, places in enumerate(_PLACES) if unknown.isdisjoint(places)]
        self._rate([(kinship, self._histories[kinship].get(key)) for kinship, key in kin], run_seconds)
        for kinship, key in kin:
            history = self._histories[kinship].get(key)
            if history is None:
                history = self._histories[kinship][key] = SortedWindow(self.window)
            history.add(run_seconds)

    def ranking(self) -> tuple[tuple[str, ...], ...]:
        """Return the kinships, the one that tells run times best first."""
        return tuple(KINSHIPS[kinship] for kinship in self._ranking)

    def state(self) -> dict[str, Any]:
        """Return all that was learnt, as JSON can hold it."""
        histories = [
            [[key, list(history.arrivals)] for key, history in of_kinship.items()] for of_kinship in self._histories
        ]
        settings = {
            "quantile": self.quantile,
            "window": self.window,
            "least_survivors": self.least_survivors,
            "planned_quantile": self.planned_quantile,
        }
        return settings | {"histories": histories, "losses": self._losses[:], "yardsticks": self._yardsticks[:]}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> LearntRuntime:
        """Return the estimator whose `state` this was."""
        made = cls(state["quantile"], state["window"], state["least_survivors"], state["planned_quantile"])
        for histories, written in zip(made._histories, state["histories"], strict=True):
            for key, values in written:
                histories[tuple(key) if isinstance(key, list) else key] = SortedWindow(made.window, values)
        made._losses, made._yardsticks = list(state["losses"]), list(state["yardsticks"])
        made._rank()
        return made

    def _history(self, values: Values, elapsed_seconds: float) -> SortedWindow | None:
        for kinship in self._ranking:
            # A key with an unknown feature is never learnt, so it is not found either.
            history = self._histories[kinship].get(_KEYS[kinship](values))
            if history is not None and history.count_above(elapsed_seconds) >= self.least_survivors:
                return history
        return None

    def _rate(self, kin: Sequence[tuple[int, SortedWindow | None]], run_seconds: float) -> None:
        losses = [(kinship, self._loss(history, run_seconds)) for kinship, history in kin if history is not None]
        yardstick = losses[-1][1] if losses and losses[-1][0] == EVERY_JOB else None
        if yardstick is None:
            return
        for kinship, loss in losses:
            if loss is not None:
                self._losses[kinship] = MEMORY * self._losses[kinship] + loss
                self._yardsticks[kinship] = MEMORY * self._yardsticks[kinship] + yardstick
        self._rank()

    def _loss(self, history: SortedWindow, run_seconds: float) -> float | None:
        if len(history) < self.least_survivors:
            return None
        answer = max(LEAST_SECONDS, history.quantile_above(EVERY_RUN, self.quantile))
        error = math.log(max(LEAST_SECONDS, run_seconds) / answer)
        return max(self.quantile * error, (self.quantile - 1.0) * error)

    def _rank(self) -> None:
        # A kinship that was never rated counts as good as no kinship at all; where two tie, the closer one leads.
        told = [loss / of if of > 0 else 1.0 for loss, of in zip(self._losses, self._yardsticks, strict=True)]
        self._ranking = tuple(sorted(range(len(KINSHIPS)), key=told.__getitem__))


_PLACES = tuple(tuple(FEATURES.index(feature) for feature in kinship) for kinship in KINSHIPS)
_KEYS: tuple[Callable[[Values], object], ...] = tuple(
    itemgetter(*places) if places else lambda values: () for places in _PLACES
)


def _values(features: JobFeatures) -> Values:
    """Return the features in the order of FEATURES, the limit as the number of its class."""
    limit = features.limit_seconds
    limit_class = None if limit is None else math.floor(math.log2(limit) * LIMITS_PER_DOUBLING)
    return features.user, features.name, features.gpus, features.kind, limit_class
