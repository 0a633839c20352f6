"""The report of a replay as one HTML file that needs no network and runs no script."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

import yaml

from loadfactor.pictures.html_parts import legend
from loadfactor.replay.chart import USES, policy_colours, queue_chart, unmet_chart, use_chart, wait_chart
from loadfactor.replay.report import ReplayReport
from loadfactor.replay.rows import Row, sections
from loadfactor.replay.view import introduction


def html_report(report: ReplayReport, timing: bool = True) -> str:
    """Return the page: the policies side by side with what each row means, pictures over time, and the recipe.

    Its Content-Security-Policy forbids every request and every script. Without `timing` the same recipe gives the same
    page.
    """
    gpus = report.scenario.world.cluster.gpu_count
    uses = [
        f"<h3>{escape(outcome.measures.policy)}</h3>{_figure(use_chart(outcome, gpus), _told(outcome.measures.policy))}"
        for outcome in report.outcomes
    ]
    policies = legend(policy_colours(report))
    recipe = yaml.safe_dump(report.scenario.recipe.to_document(), sort_keys=False, allow_unicode=True)
    return Template(_page_file("page.html")).substitute(
        title=escape(f"Replay: {report.scenario.recipe.name}"),
        style=_page_file("style.css"),
        introduction=escape(introduction(report.scenario)),
        comparison=_comparison(report, timing),
        uses=legend(dict(USES.values())) + "\n".join(uses),
        queue=policies + _figure(queue_chart(report), "Jobs in the queue over time, by policy"),
        unmet=policies + _figure(unmet_chart(report), "GPUs that services lacked over time, by policy"),
        waits=policies + _figure(wait_chart(report), "Mean wait by size of the job and policy"),
        recipe=f"<pre>{escape(recipe)}</pre>",
    )


def _told(policy: str) -> str:
    return f"What the GPUs did over time under {policy}"


def _figure(svg: str, description: str) -> str:
    return f'<figure role="img" aria-label="{escape(description)}">{svg}</figure>'


def _comparison(report: ReplayReport, timing: bool) -> str:
    names = [each.policy for each in report.measures] + (["bound"] if report.bound is not None else [])
    head = "".join(f'<th class="number" scope="col">{escape(name)}</th>' for name in names)
    body = "\n".join(
        f'<tr class="section"><th colspan="{len(names) + 2}" scope="rowgroup">{escape(title)}</th></tr>\n'
        + "\n".join(_row(row, report) for row in rows)
        for title, rows in sections(timing).items()
    )
    return (
        f'<div class="scroll"><table><thead><tr><td></td>{head}<th scope="col">what it is</th></tr></thead>\n'
        f"<tbody>{body}</tbody></table></div>"
    )


def _row(row: Row, report: ReplayReport) -> str:
    best = row.best(report.measures)
    cells = [
        f'<td class="number{" best" if each.policy in best else ""}">{row.text(row.figure(each))}</td>'
        for each in report.measures
    ]
    if report.bound is not None:
        cells.append(
            f'<td class="number">{row.text(report.bound[row.bound]) if row.bound in report.bound else ""}</td>'
        )
    kind = ' class="part"' if row.label.startswith(" ") else ""
    label = f'<th scope="row">{escape(row.label.strip())}</th>'
    return f'<tr{kind}>{label}{"".join(cells)}<td class="meaning">{escape(row.meaning)}</td></tr>'


def _page_file(name: str) -> str:
    return (files("loadfactor.replay") / "page" / name).read_text(encoding="utf-8")
