"""The control loop: events in, effects out; what happens to a cluster at work, and what is decided about it."""

from loadfactor.control.blocks import BlockSizes
from loadfactor.control.decision import Decision, JobStart, Planner, Swap
from loadfactor.control.loop import ControlLoop, LoopRecord
from loadfactor.control.machine import Machine
from loadfactor.control.referee import Referee
from loadfactor.control.requests import JobRequest, ServiceRequest
from loadfactor.control.state import BrokenStateError, ClusterState

__all__ = [
    "BlockSizes",
    "BrokenStateError",
    "ClusterState",
    "ControlLoop",
    "Decision",
    "JobRequest",
    "JobStart",
    "LoopRecord",
    "Machine",
    "Planner",
    "Referee",
    "ServiceRequest",
    "Swap",
]
