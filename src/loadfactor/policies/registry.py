"""Policies by name. Third parties add theirs with an entry point in the group `loadfactor.policies`."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from loadfactor.errors import Fault, UnknownPolicyError
from loadfactor.policies.protocol import Policy

GROUP = "loadfactor.policies"


def policy_names() -> list[str]:
    """Return the names of all registered policies, sorted."""
    return sorted(_registered())


def policy(name: str) -> Policy:
    """Return the policy registered as `name`; raise `UnknownPolicyError` listing the names that exist.

    The module of a policy is imported here, so that a command pays only for the policy that it uses.
    """
    require_policy(name)
    return _load(_registered()[name], name)


def require_policy(name: str) -> None:
    """Raise `UnknownPolicyError` where nobody registered `name`, without importing any policy."""
    if name not in _registered():
        known = ", ".join(policy_names())
        raise UnknownPolicyError([Fault("policy", f"{name!r} is not registered", f"choose one of {known}")])


@cache
def _registered() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


@cache
def _load(entry: EntryPoint, name: str) -> Policy:
    try:
        loaded = entry.load()()
    except Exception as error:
        fact = f"the package behind it ({entry.value}) cannot be loaded: {error}"
        raise UnknownPolicyError([Fault(f"policy {name!r}", fact, "repair or remove that package")]) from error
    if not isinstance(loaded, Policy):
        fact = f"{entry.value} has no method plan(problem, effort) or no name"
        raise UnknownPolicyError([Fault(f"policy {name!r}", fact, "see loadfactor.policies.Policy")])
    return loaded
