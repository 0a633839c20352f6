"""Real data in: logs of jobs and of demand, and a description of a cluster, become a problem.

Everything that a command needs::

    recipe = read_recipe("recipe.yaml")            # or recipe_from_options(...), or sample_recipe()
    problem, report = build_problem(recipe)
    write_document(problem.to_document(), "problem.yaml")
    print("\\n".join(report.lines()))
"""

from loadfactor.sources.build import build_problem, sample_directory, sample_recipe
from loadfactor.sources.clusters import MEMORY_GIB, parse_cluster, read_cluster
from loadfactor.sources.demand import DemandLog, read_demand
from loadfactor.sources.formats import DemandFormat, JobFormat
from loadfactor.sources.job_log import JobLog, job_log_of
from loadfactor.sources.jobs import read_jobs
from loadfactor.sources.options import parse_pairs, recipe_from_options
from loadfactor.sources.presets import DEMAND_PRESETS, JOB_PRESETS
from loadfactor.sources.recipe import (
    HorizonRecipe,
    JobsRecipe,
    ProblemRecipe,
    ServiceRecipe,
    Throughput,
    read_recipe,
)
from loadfactor.sources.report import BadRow, BuildReport, JobsReport, LeftOut, ServiceReport
from loadfactor.sources.tables import Layout

__all__ = [
    "DEMAND_PRESETS",
    "JOB_PRESETS",
    "MEMORY_GIB",
    "BadRow",
    "BuildReport",
    "DemandFormat",
    "DemandLog",
    "HorizonRecipe",
    "JobFormat",
    "JobLog",
    "JobsRecipe",
    "JobsReport",
    "Layout",
    "LeftOut",
    "ProblemRecipe",
    "ServiceRecipe",
    "ServiceReport",
    "Throughput",
    "build_problem",
    "job_log_of",
    "parse_cluster",
    "parse_pairs",
    "read_cluster",
    "read_demand",
    "read_jobs",
    "read_recipe",
    "recipe_from_options",
    "sample_directory",
    "sample_recipe",
]
