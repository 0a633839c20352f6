"""Planners: they look at the state of a cluster and decide what to start, give and take now."""

from loadfactor.control.planners.allocator import Allocator, ServiceCurves
from loadfactor.control.planners.baselines import InOrder
from loadfactor.control.planners.book import JobBook, by_arrival, by_priority
from loadfactor.control.planners.conservative import Conservative
from loadfactor.control.planners.exact import ExactTurns
from loadfactor.control.planners.horizon import HorizonSettings
from loadfactor.control.planners.loading import load_planners
from loadfactor.control.planners.placing import EASY, STRICT
from loadfactor.control.planners.serving import PeakReservation, ReactiveScaling, ServingRule
from loadfactor.control.planners.steady import Steady, safe_planner
from loadfactor.control.planners.worth import WorthSettings

__all__ = [
    "EASY",
    "STRICT",
    "Allocator",
    "Conservative",
    "ExactTurns",
    "HorizonSettings",
    "InOrder",
    "JobBook",
    "PeakReservation",
    "ReactiveScaling",
    "ServiceCurves",
    "ServingRule",
    "Steady",
    "WorthSettings",
    "by_arrival",
    "by_priority",
    "load_planners",
    "safe_planner",
]
