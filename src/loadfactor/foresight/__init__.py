"""What a policy may know about the future, from the past alone: how long jobs run, how much services need."""

from loadfactor.foresight.changes import ChangeQuantile
from loadfactor.foresight.demand import Curve, DemandForecaster, LastValue, PerfectForecast
from loadfactor.foresight.features import JobFeatures, RuntimeEstimator
from loadfactor.foresight.learnt import LearntRuntime
from loadfactor.foresight.runtimes import PerfectRuntime, UserLimit, misjudged
from loadfactor.foresight.seasonal import SeasonalQuantile

__all__ = [
    "ChangeQuantile",
    "Curve",
    "DemandForecaster",
    "JobFeatures",
    "LastValue",
    "LearntRuntime",
    "PerfectForecast",
    "PerfectRuntime",
    "RuntimeEstimator",
    "SeasonalQuantile",
    "UserLimit",
    "misjudged",
]
