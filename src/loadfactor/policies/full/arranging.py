"""Gives nodes that may be renamed other names, so that the nodes of every block of several become neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MOST_ATTEMPTS = 20_000
"""Placements of one node after another before the search gives up."""

Nodes = Sequence[Sequence[frozenset[int]]]


def neighbours(nodes: Nodes, kinds: Sequence[int]) -> list[list[frozenset[int]]] | None:
    """Return the same nodes under other names, or None where no renaming is found.

    Only nodes of one kind may change names. Afterwards those of every block are consecutive.
    """
    wide = {block for blocks in nodes for block in blocks if len(block) > 1}
    attempts = iter(range(MOST_ATTEMPTS))
    order = next(_orders([], frozenset(range(len(kinds))), wide, kinds, attempts), None)
    if order is None:
        return None
    name = {node: place for place, node in enumerate(order)}
    return [[frozenset(name[node] for node in block) for block in blocks] for blocks in nodes]


def _orders(
    placed: list[int],
    left: frozenset[int],
    wide: set[frozenset[int]],
    kinds: Sequence[int],
    attempts: Iterator[int],
) -> Iterator[list[int]]:
    """Yield orders of the nodes in which every block is consecutive, by depth-first search."""
    if not left:
        yield placed
    begun = [block for block in wide if block & left and not block <= left]
    for node in sorted(left, key=lambda node: -sum(node in block for block in wide)):
        fits = kinds[node] == kinds[len(placed)] and all(node in block for block in begun)
        if fits and next(attempts, None) is not None:
            yield from _orders([*placed, node], left - {node}, wide, kinds, attempts)
