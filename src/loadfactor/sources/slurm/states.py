"""The states of Slurm's jobs: long, short (`CD`), cut (`CANCELLED+`) or with a tail (`CANCELLED by 1234`)."""

from __future__ import annotations

from functools import lru_cache

from loadfactor.sources.facts import JobState
from loadfactor.sources.slurm.cells import CACHED_CELLS

# Slurm's base states carry our names; its flags, which describe a moment between two of them, are mapped to the state
# whose hold on the GPUs they share.
_MEANINGS: dict[str, JobState] = {
    **{state.value: state for state in JobState},
    "CONFIGURING": JobState.RUNNING,
    "COMPLETING": JobState.RUNNING,
    "SIGNALING": JobState.RUNNING,
    "STAGE_OUT": JobState.RUNNING,
    "RESIZING": JobState.RUNNING,
    "POWER_UP_NODE": JobState.RUNNING,
    "STOPPED": JobState.SUSPENDED,
    "REQUEUE_FED": JobState.REQUEUED,
    "REQUEUE_HOLD": JobState.REQUEUED,
    "RESV_DEL_HOLD": JobState.PENDING,
    "SPECIAL_EXIT": JobState.FAILED,
    "LAUNCH_FAILED": JobState.FAILED,
    "RECONFIG_FAIL": JobState.NODE_FAIL,
    "REVOKED": JobState.CANCELLED,
    "CANCELED": JobState.CANCELLED,
}
_SHORT = {
    "PD": "PENDING",
    "R": "RUNNING",
    "S": "SUSPENDED",
    "CD": "COMPLETED",
    "F": "FAILED",
    "CA": "CANCELLED",
    "TO": "TIMEOUT",
    "OOM": "OUT_OF_MEMORY",
    "NF": "NODE_FAIL",
    "BF": "BOOT_FAIL",
    "DL": "DEADLINE",
    "PR": "PREEMPTED",
    "RQ": "REQUEUED",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "RS": "RESIZING",
    "ST": "STOPPED",
    "SI": "SIGNALING",
    "SO": "STAGE_OUT",
    "SE": "SPECIAL_EXIT",
    "RF": "REQUEUE_FED",
    "RH": "REQUEUE_HOLD",
    "RD": "RESV_DEL_HOLD",
    "RV": "REVOKED",
}


@lru_cache(CACHED_CELLS)
def parse_state(text: str) -> JobState:
    """Return the state that the first word of `text` names; UNKNOWN for a word that Slurm does not have."""
    words = text.split()
    word = words[0].upper() if words else ""
    word = _SHORT.get(word, word)
    if word.endswith("+"):
        found = {_MEANINGS[name] for name in _MEANINGS if name.startswith(word[:-1])}
        return found.pop() if len(found) == 1 else JobState.UNKNOWN
    return _MEANINGS.get(word, JobState.UNKNOWN)


def is_active(state: JobState) -> bool:
    """Return whether a job in `state` has not ended: it waits, runs or is suspended."""
    return state in (JobState.PENDING, JobState.RUNNING, JobState.SUSPENDED)
