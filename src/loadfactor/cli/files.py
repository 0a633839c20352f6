"""The files that commands write: checked before the work begins, and whole or not there at all."""

from __future__ import annotations

from pathlib import Path

from loadfactor.errors import InputError


def refuse_unwritable(option: str, target: str | None, suffixes: tuple[str, ...] = ()) -> None:
    """Raise `InputError` before any work is done if nothing can be written to `target`."""
    if target is None:
        return
    path = Path(target)
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError.of(option, f"{target!r} ends in none of {', '.join(suffixes)}", "choose one of these endings")
    if path.is_dir():
        raise InputError.of(option, f"{target!r} is a directory", "name a file in it")
    if not path.parent.is_dir():
        raise InputError.of(option, f"the directory {str(path.parent)!r} does not exist", "create it first")


def write_file(option: str, target: str, content: str | bytes) -> None:
    """Write `content` to `target`, replacing what was there only once all of it is written."""
    path = Path(target)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise InputError.of(
            option, f"{target!r} cannot be written ({error.strerror})", "choose another place"
        ) from None
