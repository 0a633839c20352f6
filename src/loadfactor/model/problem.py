"""The problem document: a horizon, an objective, a cluster, and the jobs and services that compete for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from loadfactor.errors import InputError
from loadfactor.model import limits
from loadfactor.model.base import Noun, Text
from loadfactor.model.cluster import Cluster
from loadfactor.model.consistency import Parts, faults_between
from loadfactor.model.faults import contradictions, faults_of
from loadfactor.model.horizon import Horizon, Objective
from loadfactor.model.workload import Job, Service

Item = TypeVar("Item", Job, Service)
Part = TypeVar("Part", Horizon, Cluster, Job, Service)


class Problem(Noun):
    """Everything that a policy may know. Section "Problem" of the docs describes every field."""

    name: Text
    horizon: Horizon
    objective: Objective = Objective()
    cluster: Cluster
    jobs: Annotated[tuple[Job, ...], Field(max_length=limits.MAX_JOBS)] = ()
    services: Annotated[tuple[Service, ...], Field(max_length=limits.MAX_SERVICES)] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        faults = faults_between(Parts.of(self.horizon, self.cluster, self.jobs, self.services))
        if faults:
            raise contradictions(faults)
        return self

    @classmethod
    def from_document(cls, document: Any) -> Problem:
        """Return the problem that `document` (plain mappings and lists) describes.

        Raises `InputError` with every fault at once: those inside a field and the contradictions between the fields
        that are sound on their own.
        """
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            faults = faults_of(error)
            if isinstance(document, Mapping):
                faults += [fault for fault in faults_between(_sound_parts(document)) if fault not in faults]
            raise InputError(faults) from None

    def replace(self, **changes: Any) -> Problem:
        """Return this problem with the named fields changed, validated again."""
        return Problem(**{**{name: getattr(self, name) for name in type(self).model_fields}, **changes})

    def to_document(self) -> dict[str, Any]:
        """Return the problem as plain mappings and lists, without the fields that say nothing."""
        return self.model_dump(mode="json", exclude_none=True)


def _sound_parts(document: Mapping[str, Any]) -> Parts:
    """Return the parts of a faulty document that are sound on their own."""
    return Parts(
        _sound(Horizon, document.get("horizon")),
        _sound(Cluster, document.get("cluster")),
        _sound_items(Job, document.get("jobs")),
        _sound_items(Service, document.get("services")),
        {path: name for kind in ("jobs", "services") for path, name in _ids(kind, document.get(kind))},
    )


def _ids(kind: str, values: Any) -> Iterator[tuple[str, str]]:
    """Yield path and id of every item that has one, whatever else is wrong with it."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        for index, value in enumerate(values):
            name = value.get("id") if isinstance(value, Mapping) else None
            if isinstance(name, str):
                yield f"{kind}[{index}]", name


def _sound_items(kind: type[Item], values: Any) -> dict[int, Item]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        return {}
    candidates = ((index, _sound(kind, value)) for index, value in enumerate(values))
    return {index: item for index, item in candidates if item is not None}


def _sound(kind: type[Part], value: Any) -> Part | None:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return None
