"""The grid of a plan in the terminal: a row for each GPU (or group of nodes), a column for each step (or several)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import isnan

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from loadfactor.model import Plan, Problem
from loadfactor.pictures.boxes import Box, largest_box
from loadfactor.pictures.canvas import BLANK, Line, fitted
from loadfactor.pictures.clock import Clock
from loadfactor.pictures.density import (
    FIRST_OWNER,
    IDLE,
    UNAVAILABLE,
    density,
    foremost_owners,
    owners,
    row_edges,
)
from loadfactor.pictures.palette import KIND_NAMES, KINDS, LIGHT
from loadfactor.pictures.scene import Scene, scene_of
from loadfactor.pictures.terminal_style import TerminalStyle
from loadfactor.pictures.wording import counted, headline

MAX_ROWS = 64
MAX_CELL_WIDTH = 6
MAX_NAME = 14
MAX_SHORTFALL_ROWS = 12
MAX_NAMES_LISTED = 8
MIN_WIDTH = 40


def terminal_grid(problem: Problem, plan: Plan, width: int | None = None) -> TerminalGrid:
    """Return the grid of `plan` for a rich console, `width` cells wide (the console's own width if None).

    Clusters of more than 64 GPUs are shown in groups whose shade is the busy share, horizons longer than the line in
    columns of several steps; the picture says so. Raises `InputError` if `plan` is not one for `problem`.
    """
    return TerminalGrid(scene_of(problem, plan), width)


class TerminalGrid:
    """Renders a scene at the width and with the colours of the console that prints it."""

    def __init__(self, scene: Scene, width: int | None = None) -> None:
        self.scene = scene
        self.width = width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of the picture."""
        colour = console.color_system is not None and not console.no_color
        style = TerminalStyle(colour, not options.ascii_only)
        width = max(MIN_WIDTH, min(self.width or options.max_width, options.max_width))
        yield from _Drawing(self.scene, style, width).lines()


class _Drawing:
    """The layout of one picture and its lines, from top to bottom."""

    def __init__(self, scene: Scene, style: TerminalStyle, width: int) -> None:
        self.scene = scene
        self.style = style
        self.width = width
        self.clock = Clock(scene.problem.horizon)
        self.edges = row_edges(scene.problem.cluster, MAX_ROWS)
        self.detailed = len(self.edges) == scene.gpu_count + 1
        names = [self._row_name(first, until) for first, until in pairwise(self.edges)]
        names += [drawn.service.id for drawn in scene.services]
        self.name_width = min(MAX_NAME, max(map(cell_len, names)))
        self.number_width = len(str(scene.gpu_count - 1)) + 1 if self.detailed else 0
        self.left = self.name_width + self.number_width + 2
        room = width - self.left
        self.steps_per_column = -(-scene.steps // room)
        self.columns = -(-scene.steps // self.steps_per_column)
        self.cell_width = min(MAX_CELL_WIDTH, room // self.columns)

    def lines(self) -> Iterator[Text]:
        yield Text(fitted(f"{self.scene.problem.name}: {self.scene.plan.policy}", self.width), style="bold")
        yield Text(headline(self.scene) if self.style.unicode else headline(self.scene).replace("·", "-"))
        yield from (Text(note, style="italic") for note in self._notes())
        yield self._axis("step", Clock(self.scene.problem.horizon.model_copy(update={"start": None})))
        yield from (line.text() for line in (self._rows() if self.detailed else self._shaded_rows()))
        yield from self._shortfall_rows()
        if self.clock.has_start:
            yield self._axis("UTC", self.clock)
        yield self._legend()
        if self.scene.plan.unplaced:
            yield self._unplaced()

    def _notes(self) -> Iterator[str]:
        if not self.detailed:
            largest = max(until - first for first, until in pairwise(self.edges))
            yield f"each row is up to {counted(largest, 'GPU')}; the shade is the share of them that is busy"
        if self.steps_per_column > 1:
            yield f"each column is {self.steps_per_column} steps"

    def _row_name(self, first: int, until: int) -> str:
        """Return the node of a row, or how its nodes run; only the first row of a node is named."""
        cluster = self.scene.problem.cluster
        node, last = cluster.node_of(first), cluster.node_of(until - 1)
        if node != last:
            return f"{cluster.nodes[node].name} +{last - node}"
        return cluster.nodes[node].name if cluster.node_offsets[node] == first else ""

    def _new_line(self, name: str, number: str = "", style: Style | None = None) -> Line:
        line = Line(self.left + self.columns * self.cell_width)
        line.write(0, fitted(name, self.name_width, self.style.more), style or Style())
        line.write(self.name_width + self.number_width - len(number), number, Style(dim=True))
        line.put(self.left - 1, self.style.border, Style(dim=True))
        return line

    def _at(self, column: int) -> int:
        return self.left + column * self.cell_width

    def _rows(self) -> list[Line]:
        codes = foremost_owners(owners(self.scene), self.steps_per_column)
        lines = [self._new_line(self._row_name(gpu, gpu + 1), str(gpu)) for gpu in range(self.scene.gpu_count)]
        for gpu, line in enumerate(lines):
            for column, code in enumerate(codes[gpu].tolist()):
                below = int(codes[gpu + 1, column]) if gpu + 1 < len(lines) else IDLE
                self._fill(line, column, *self._look(code, above_another=below != code and self._is_job(below)))
                if self._is_job(code):
                    row = codes[gpu]
                    starts = column == 0 or row[column - 1] != code
                    self._edge(line, column, starts, column + 1 == len(row) or row[column + 1] != code)
        everyone = [(d.boxes, d.job.id) for d in self.scene.jobs]
        everyone += [(d.boxes, d.service.id) for d in self.scene.services]
        for code, (boxes, name) in enumerate(everyone, start=FIRST_OWNER):
            if boxes:
                self._label(lines, codes.tolist(), code, largest_box(boxes), name)
        return lines

    def _is_job(self, code: int) -> bool:
        return 0 <= code - FIRST_OWNER < len(self.scene.jobs)

    def _look(self, code: int, *, above_another: bool) -> tuple[str, Style]:
        if code == IDLE:
            return self.style.idle
        if code == UNAVAILABLE:
            return self.style.unavailable
        index = code - FIRST_OWNER
        if index < len(self.scene.jobs):
            return self.style.job(self.scene.jobs[index].job.kind, above_another=above_another)
        return self.style.service(index - len(self.scene.jobs))

    def _fill(self, line: Line, column: int, glyph: str, style: Style) -> None:
        """Fill the cells of a column; idle time has one dot for a step, so that it reads as empty."""
        is_idle = (glyph, style) == self.style.idle
        for offset in range(self.cell_width):
            line.put(self._at(column) + offset, *(BLANK if is_idle and offset else (glyph, style)))

    def _edge(self, line: Line, column: int, starts: bool, ends: bool) -> None:
        first, last = self.style.job_edges()
        if starts and (self.cell_width > 1 or not ends):
            line.write(self._at(column), first)
        if ends and last and (self.cell_width > 1 or not starts):
            line.write(self._at(column + 1) - 1, last)

    def _label(self, lines: list[Line], codes: list[list[int]], code: int, box: Box, name: str) -> None:
        """Write a name in the middle of a box, where the box still is its owner's in this picture."""
        row = (box.first_gpu + box.until_gpu - 1) // 2
        mine = [column for column in self._columns_of(box) if codes[row][column] == code]
        if not mine:
            return
        inner = (mine[-1] + 1 - mine[0]) * self.cell_width - 2
        text = fitted(name, inner, self.style.more)
        if cell_len(text) < min(2, cell_len(name)):
            return
        margin = (inner - cell_len(text)) // 2
        if not self.style.colour and margin:
            text, margin = f" {text} ", margin - 1
        lines[row].write(self._at(mine[0]) + 1 + margin, text)

    def _columns_of(self, box: Box) -> range:
        return range(box.start // self.steps_per_column, -(-box.end // self.steps_per_column))

    def _shaded_rows(self) -> Iterator[Line]:
        groups = density(self.scene, self.edges, self.steps_per_column)
        paints = [*(self.style.shaded(LIGHT.kinds[kind]) for kind in KINDS), self.style.shaded(LIGHT.service(0))]
        for row, (first, until) in enumerate(pairwise(self.edges)):
            line = self._new_line(self._row_name(first, until))
            for column in range(self.columns):
                share = float(groups.busy[row, column])
                if isnan(share):  # nothing is available
                    self._fill(line, column, *self.style.unavailable)
                elif share == 0:
                    self._fill(line, column, *self.style.idle)
                else:
                    self._fill(line, column, self.style.shade(share), paints[groups.foremost[row, column]])
            yield line

    def _shortfall_rows(self) -> Iterator[Text]:
        lacking = [drawn for drawn in self.scene.services if drawn.shortfall.any()]
        for drawn in sorted(lacking, key=lambda each: -int(each.shortfall.sum()))[:MAX_SHORTFALL_ROWS]:
            line = self._new_line(drawn.service.id, style=Style(color="red", bold=True))
            for column in range(self.columns):
                first = column * self.steps_per_column
                worst = int(drawn.shortfall[first : first + self.steps_per_column].max())
                if worst:
                    text = str(worst) if len(str(worst)) <= self.cell_width else "+" * self.cell_width
                    line.write(self._at(column), text.rjust(self.cell_width), self.style.shortfall)
            yield line.text()
        if len(lacking) > MAX_SHORTFALL_ROWS:
            yield Text(f"and {counted(len(lacking) - MAX_SHORTFALL_ROWS, 'more service')} with less shortfall")

    def _axis(self, name: str, clock: Clock) -> Text:
        line = Line(self.width)
        line.write(0, name.rjust(self.left - 2), Style(dim=True))
        room = max(1, self.columns * self.cell_width // 7)
        for step in clock.ticks(room):
            at, label = self._at(0) + step * self.cell_width // self.steps_per_column, clock.label(step)
            if at + len(label) <= self.width:
                line.write(at, label, Style(dim=True))
        return line.text()

    def _legend(self) -> Text:
        legend = Text(overflow="fold")
        kinds = {drawn.job.kind for drawn in self.scene.jobs}
        entries = [(self.style.job(kind), KIND_NAMES[kind]) for kind in KINDS if kind in kinds]
        if self.detailed:
            entries += [(self.style.service(d.index), d.service.id) for d in self.scene.services]
        elif self.scene.services:
            entries.append((self.style.service(0), "services"))
        if self.scene.unavailable:
            entries.append((self.style.unavailable, "unavailable"))
        entries.append((self.style.idle, "idle"))
        for (glyph, style), name in entries:
            legend.append(glyph * 2 if self.style.colour else glyph, style)
            legend.append(f" {fitted(name, MAX_NAME * 2, self.style.more)}   ")
        if any(drawn.shortfall.any() for drawn in self.scene.services):
            legend.append(" 1 ", self.style.shortfall)
            legend.append(" GPUs short")
        legend.rstrip()
        return legend

    def _unplaced(self) -> Text:
        names = [fitted(each.id, MAX_NAME * 2, self.style.more) for each in self.scene.plan.unplaced]
        listed = ", ".join(names[:MAX_NAMES_LISTED])
        rest = len(names) - MAX_NAMES_LISTED
        return Text(f"not placed: {listed}" + (f" and {rest:,} more" if rest > 0 else ""))
