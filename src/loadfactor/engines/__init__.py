"""Engines: what carries out decisions on a cluster, and tells what happens there."""

from loadfactor.engines.faults import FaultRates
from loadfactor.engines.ledger import DemandMeter, Ledger, UnbalancedLedgerError, Use
from loadfactor.engines.protocol import Engine
from loadfactor.engines.simulated import BrokenPromiseError, SimulatedEngine
from loadfactor.engines.world import Arrival, World

__all__ = [
    "Arrival",
    "BrokenPromiseError",
    "DemandMeter",
    "Engine",
    "FaultRates",
    "Ledger",
    "SimulatedEngine",
    "UnbalancedLedgerError",
    "Use",
    "World",
]
