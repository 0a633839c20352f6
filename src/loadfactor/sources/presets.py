"""The formats of public traces, as declared data. To add one, add an entry; no code asks for a preset by name.

Sources: HeliosData (S-Lab-System-Group), clusterdata gpu-v2020 (Alibaba), AcmeTrace (InternLM), Gavel (Stanford
FutureData), xdmod (UB CCR), the Standard Workload Format 2.2 (Parallel Workloads Archive), ServeGen (Alibaba),
AzurePublicDataset (Microsoft), Mooncake (kvcache-ai).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from loadfactor.sources.formats import EMPTY_CELLS, DemandFormat, JobFormat
from loadfactor.sources.tables import Layout

_SACCT_FIELDS = (
    "jobid jobidraw cluster partition qos account group gid user uid submit eligible start end elapsed exitcode state "
    "nnodes ncpus reqcpus reqmem reqtres alloctres timelimit nodelist jobname"
)
_SWF_FIELDS = (
    "job_number submit_time wait_time run_time allocated_processors average_cpu_time used_memory requested_processors "
    "requested_time requested_memory status user_id group_id executable queue partition preceding_job think_time"
)
_ACME_KINDS: Mapping[str, Any] = {
    "Pretrain": "training",
    "SFT": "training",
    "MLLM": "training",
    "Evaluation": "batch_inference",
}

JOB_PRESETS: Mapping[str, JobFormat] = MappingProxyType(
    {
        "helios-venus": JobFormat(
            columns={
                "id": "job_id",
                "submit": "submit_time_local",
                "duration": "service_s",
                "gpus": "gpus",
                "capped": "service_capped_48h",
            },
            zone="Asia/Shanghai",
            oddities=(
                "submission alone is known: a job is taken to have started when it was submitted",
                "run times are cut at 48 hours, so a replay loads the cluster less than the real work did",
                "no user, kind, state or priority",
            ),
        ),
        "helios-raw": JobFormat(
            columns={
                "id": "job_id",
                "user": "user",
                "submit": "submit_time",
                "start": "start_time",
                "duration": "duration",
                "gpus": "gpu_num",
            },
            zone="Asia/Shanghai",
            oddities=("rows with gpu_num 0 are CPU jobs and are left out",),
        ),
        "alibaba-pai": JobFormat(
            columns={"id": "job_hash", "name": "task", "start": "start_s", "duration": "service_s", "gpus": "gpus"},
            times="seconds",
            same_id="sum",
            oddities=(
                "the time is the start, not the submission: the real queue is not in the trace",
                "no calendar: choose a day by its number from the trace's start",
                "rows of one job are tasks of a gang: their GPUs are added, and the first one's task is the job's name",
                "a random sample of a far larger cluster, run times cut at 48 hours, shares of a GPU rounded up",
            ),
        ),
        "acme-seren": JobFormat(
            columns={
                "id": "job_id",
                "user": "user",
                "submit": "submit_time",
                "start": "start_time",
                "duration": "duration",
                "gpus": "gpu_num",
                "kind": "type",
            },
            zone="Asia/Shanghai",
            kinds=_ACME_KINDS,
            oddities=("times carry their offset (+08:00)", "rows with gpu_num 0 are CPU jobs and are left out"),
        ),
        "acme-kalos": JobFormat(
            columns={
                "id": "job_id",
                "user": "user",
                "submit": "submit_time",
                "start": "start_time",
                "end": "end_time",
                "gpus": "gpu_num",
                "kind": "type",
            },
            zone="UTC",
            kinds=_ACME_KINDS,
            oddities=(
                "its duration column counts the time in the queue too, so the run time is end minus start",
                "times carry their offset (+00:00)",
            ),
        ),
        "gavel": JobFormat(
            layout=Layout(
                separator="\t",
                quoted=False,
                header=("type", "command", "steps_flag", "data_flag", "total_steps", "arrival_s", "gpus"),
            ),
            columns={"submit": "arrival_s", "duration": "total_steps", "gpus": "gpus"},
            times="seconds",
            duration_unit=None,
            oddities=(
                "a made-up trace: run times are counted in training steps; state the seconds that one takes",
                "no ids: jobs are named after their line",
            ),
        ),
        "xdmod-sacct": JobFormat(
            layout=Layout(separator="|", quoted=False, header=tuple(_SACCT_FIELDS.split())),
            columns={
                "id": "jobid",
                "user": "user",
                "submit": "submit",
                "start": "start",
                "end": "end",
                "gpus": "alloctres",
                "limit": "timelimit",
                "name": "jobname",
                "account": "account",
            },
            zone="UTC",
            gpus_from="tres",
            limit_unit="clock",
            empty=(*EMPTY_CELLS, "UNLIMITED", "Partition_Limit"),
            oddities=(
                "`sacct --parsable2` without header, 26 fields in this order",
                "GPUs stand in AllocTRES alone; rows without gres/gpu are CPU jobs and are left out",
            ),
        ),
        "sacct": JobFormat(
            reader="sacct",
            columns={},
            oddities=(
                "any columns of `sacct -P`, in any order, found by the names in the header line",
                "the times name no zone: state that of the cluster's clock",
                "steps and jobs that neither held nor asked for a GPU are not counted among the rows",
            ),
        ),
        "swf": JobFormat(
            layout=Layout(syntax="words", comment=";", header=tuple(_SWF_FIELDS.split())),
            columns={
                "id": "job_number",
                "submit": "submit_time",
                "wait": "wait_time",
                "duration": "run_time",
                "gpus": "allocated_processors",
                "limit": "requested_time",
                "user": "user_id",
                "name": "executable",
                "account": "group_id",
            },
            times="seconds",
            empty=(*EMPTY_CELLS, "-1", "-1.0", "-1.00"),
            oddities=(
                "no calendar: choose a day by its number from the log's start",
                "processors stand for GPUs: set gpus_unit where a GPU is more than one of them",
                "where a log states only what was requested, lay columns: {gpus: requested_processors} over it",
                "a job that was checkpointed may have a row for each part (status 2 to 4) beside the one of the whole",
            ),
        ),
    }
)

DEMAND_PRESETS: Mapping[str, DemandFormat] = MappingProxyType(
    {
        "servegen": DemandFormat(
            columns={
                "time": "t_s",
                "rate": "rate_rps",
                "input_tokens": "mean_input_tokens",
                "output_tokens": "mean_output_tokens",
                "coverage": "token_stats_rate_coverage",
            },
            times="seconds",
            bin_seconds=600.0,
            oddities=(
                "no calendar: choose a day by its number from the trace's start",
                "token means cover only the share of the rate that the coverage column states",
                "m-small has bins of rate zero of which nobody says whether they are an outage or missing data",
            ),
        ),
        "azure-llm-2023": DemandFormat(
            columns={"time": "TIMESTAMP", "input_tokens": "ContextTokens", "output_tokens": "GeneratedTokens"},
            rows="requests",
            oddities=("one hour of one day; its time zone is not stated anywhere, so you must state one",),
        ),
        "mooncake": DemandFormat(
            layout=Layout(syntax="jsonl"),
            columns={"time": "timestamp", "input_tokens": "input_length", "output_tokens": "output_length"},
            rows="requests",
            times="milliseconds",
            oddities=("59 minutes, counted from the trace's start", "inputs of up to 126,195 tokens"),
        ),
        "prometheus": DemandFormat(
            layout=Layout(syntax="prometheus"),
            columns={"time": "time", "rate": "value"},
            times="epoch_seconds",
            tokens="per_second",
            oddities=(
                "all series are added up: ask for those of one service, as a rate or as a counter (…_total)",
                "rate() looks back: a value is about the time before its moment",
            ),
        ),
    }
)
