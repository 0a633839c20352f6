"""XID errors of NVIDIA's driver in a kernel log: `dmesg -T`, `dmesg --time-format iso`, journalctl and syslog."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from msgspec import Struct

from loadfactor.errors import Fault, InputError
from loadfactor.sources.cells import epoch_of_local, is_zone
from loadfactor.sources.facts import LeftOut, Reading
from loadfactor.sources.sniff import is_kernel_log, refuse

EXPECTED = "a kernel log with XID errors"
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9A-Fa-f:.]+)\): (\d{1,9})(?:, (.*))?$")
_UUID = re.compile(r"NVRM: GPU at PCI:([0-9A-Fa-f:.]+): (GPU-[0-9A-Fa-f-]+)")
_ISO = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:[.,](\d{1,6}))?(Z|[+-]\d{2}:?\d{2})?")
_CTIME = re.compile(r"\[\w{3} (\w{3} +\d{1,2} \d{2}:\d{2}:\d{2} \d{4})\]")
_SINCE_BOOT = re.compile(r"\[ *(\d+\.\d+)\]")


class XidError(Struct, frozen=True, gc=False):
    """One error: when (seconds since 1970, None where the log does not say), on which GPU, its number and its text."""

    line: int
    time: float | None
    pci_address: str
    uuid: str | None
    number: int
    text: str


def read_xid_log(
    text: str, name: str = "kernel.log", zone: str | None = None, booted: float | None = None
) -> Reading[XidError]:
    """Return the XID errors of a kernel log, in its order; raise `InputError` where it holds none.

    `zone` is the time zone of moments without an offset, and `booted` (seconds since 1970) the start of those that
    count from the boot; without them such moments are unknown, and a note says so.
    """
    if not is_kernel_log(text):
        refuse(text, name, EXPECTED)
    if zone is not None and not is_zone(zone):
        raise InputError.of(name, f"{zone!r} is no time zone that is known", "name one such as Europe/Berlin or UTC")
    lines = text.splitlines()
    uuids = {found[1]: found[2] for line in lines if (found := _UUID.search(line))}
    facts: list[XidError] = []
    left_out: list[LeftOut] = []
    for number, line in enumerate(lines, start=1):
        found = _XID.search(line)
        if found is None:
            if "NVRM: Xid (" in line:
                fault = Fault(f"{name}:{number}", "is no XID error that can be read", "report the line")
                left_out.append(LeftOut(fault))
            continue
        when = _moment(line[: found.start()], zone, booted)
        facts.append(XidError(number, when, found[1], uuids.get(found[1]), int(found[2]), found[3] or ""))
    unknown = sum(fact.time is None for fact in facts)
    notes = (f"{name}: when {unknown} of {len(facts)} XID errors happened is not known",) if unknown else ()
    return Reading(name, tuple(facts), len(facts) + len(left_out), tuple(left_out), notes)


def _moment(prefix: str, zone: str | None, booted: float | None) -> float | None:
    try:
        iso = _ISO.search(prefix)
        if iso:
            local = datetime.fromisoformat(iso[1])
            fraction = float(f"0.{iso[2] or 0}")
            if iso[3]:
                offset = datetime.strptime(iso[3].replace("Z", "+00:00"), "%z").tzinfo
                return local.replace(tzinfo=offset).timestamp() + fraction
            return None if zone is None else epoch_of_local(local, zone) + fraction
        written = _CTIME.search(prefix)
        if written:
            local = datetime.strptime(written[1], "%b %d %H:%M:%S %Y").replace(tzinfo=UTC).replace(tzinfo=None)
            return None if zone is None else epoch_of_local(local, zone)
    except (ValueError, OverflowError, InputError):
        return None
    counted = _SINCE_BOOT.search(prefix)
    return booted + float(counted[1]) if counted and booted is not None else None
