"""What all nouns share: frozen, strict, validated at birth, and an `InputError` that names every fault."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from loadfactor.errors import InputError
from loadfactor.model import limits
from loadfactor.model.faults import faults_of

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # it has no public name

_new = object.__new__
# a frozen noun refuses attributes, and setting its slots by name takes twice the time
_set_fields, _set_names, _set_extra, _set_private = (
    BaseModel.__dict__[slot].__set__
    for slot in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


class _RaisesInputError(ModelMetaclass):
    """Turns pydantic's `ValidationError` into an `InputError` wherever a noun is constructed."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - this is a metaclass
        try:
            return super().__call__(*args, **kwargs)
        except ValidationError as error:
            raise InputError(faults_of(error)) from None


class Noun(BaseModel, metaclass=_RaisesInputError):
    """A frozen value that refuses unknown fields, wrong types, NaN and infinities."""

    _every_field: ClassVar[set[str]]
    """One set for all trusted nouns of a class: nobody can set a field of a frozen noun, so it never changes."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True, serialize_by_alias=True
    )

    @classmethod
    def trusted(cls, fields: dict[str, Any]) -> Self:
        """Return a noun from values that we computed ourselves, every field given and none of them checked.

        Ten times quicker than validation, which matters to a policy that answers in a fraction of a millisecond; what a
        policy makes is judged afterwards anyway.
        """
        noun = _new(cls)
        _set_fields(noun, fields)
        _set_names(noun, cls._every_field)
        _set_extra(noun, None)
        _set_private(noun, None)
        return noun

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls._every_field = set(cls.model_fields)


Text = Annotated[
    str,
    StringConstraints(strict=True, min_length=1, max_length=limits.MAX_TEXT, pattern=r"^[^\x00-\x1f\x7f]+$"),
]
Count = Annotated[int, Field(strict=True, ge=0, le=limits.MAX_GPUS)]
PositiveCount = Annotated[int, Field(strict=True, ge=1, le=limits.MAX_GPUS)]
GpuIndex = Annotated[int, Field(strict=True, ge=0, lt=limits.MAX_GPUS)]
Step = Annotated[int, Field(strict=True, ge=0, le=limits.MAX_DURATION_STEPS)]
PositiveStep = Annotated[int, Field(strict=True, ge=1, le=limits.MAX_DURATION_STEPS)]
Memory = Annotated[float, Field(strict=True, gt=0, le=limits.MAX_MEMORY_GIB)]
Priority = Annotated[float, Field(strict=True, ge=0, le=limits.MAX_PRIORITY)]
