"""Jobs in Slurm's JSON: every shape of a number, a state, a resource and an id, with the value worked out by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from loadfactor.errors import InputError
from loadfactor.sources.facts import JobInterval, JobState, NodeGpus
from loadfactor.sources.slurm.jobs_json import read_slurm_jobs_json
from tests.sources.slurm_documents import ENDLESS, UNSET, accounted, controlled, document, gres, number


def read_one(job: dict[str, Any]) -> JobInterval:
    reading = read_slurm_jobs_json(document(job), "jobs.json")
    assert reading.left_out == ()
    assert reading.rows_read == 1
    return reading.facts[0]


def test_a_job_of_the_accounting() -> None:
    assert read_one(accounted()) == JobInterval(
        row=0,
        id="10",
        state=JobState.COMPLETED,
        name="train",
        user="ada",
        account="vision",
        partition="gpu",
        quality_of_service="normal",
        priority=272,
        submitted=1000,
        eligible=1500,
        started=2000,
        ended=2600,
        limit_seconds=1200,
        gpus=4,
        gpus_requested=4,
        gpu_type="h100",
        node_count=1,
        node_gpus=(NodeGpus("gpu1", 4),),
        memory_requested_mib=2048,
        exit_code=0,
    )


def test_a_running_job_of_the_controller_has_no_end_but_indices() -> None:
    assert read_one(controlled()) == JobInterval(
        row=0,
        id="11",
        state=JobState.RUNNING,
        name="serve",
        user="bob",
        account="speech",
        partition="gpu",
        quality_of_service="high",
        priority=545,
        submitted=1000,
        eligible=1000,
        started=2000,
        limit_seconds=3600,
        gpus=5,
        gpus_requested=5,
        gpu_type="h100",
        node_count=2,
        node_gpus=(NodeGpus("gpu1", 4, (0, 1, 2, 3)), NodeGpus("gpu2", 1, (6,))),
        memory_requested_mib=1024,
    )


def test_plain_numbers_and_a_state_in_one_word_as_21_08_writes_them() -> None:
    plain = {"submit_time": 1000, "eligible_time": 0, "start_time": 2000, "end_time": 2500, "time_limit": 4294967295}
    job = controlled(**plain, job_state="FAILED", exit_code=256, priority=4294967294, array_task_id=None)
    found = read_one(job)
    assert (found.state, found.started, found.ended, found.eligible) == (JobState.FAILED, 2000, 2500, None)
    assert (found.limit_seconds, found.priority, found.exit_code) == (math.inf, None, 256)


def test_the_accounting_of_21_08() -> None:
    plain = {"priority": 7, "array": {"job_id": 0, "task_id": None}, "exit_code": {"status": "ERROR", "return_code": 2}}
    time = accounted()["time"] | {"limit": 20}
    found = read_one(accounted(**plain, time=time, state={"current": "FAILED", "reason": "Prolog"}))
    assert (found.state, found.reason, found.exit_code) == (JobState.FAILED, "Prolog", 2)
    assert (found.priority, found.limit_seconds, found.id) == (7, 1200, "10")


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [(number(1), 60), (UNSET, None), (ENDLESS, math.inf), (90, 5400), (4294967295, math.inf), (4294967294, None)],
)
def test_limits(limit: Any, seconds: float | None) -> None:
    assert read_one(controlled(time_limit=limit)).limit_seconds == seconds
    time = accounted()["time"] | {"limit": limit}
    assert read_one(accounted(time=time)).limit_seconds == seconds


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (["RUNNING", "COMPLETING"], JobState.RUNNING),
        (["COMPLETING", "COMPLETED"], JobState.COMPLETED),
        (["PENDING", "REQUEUED"], JobState.PENDING),
        (["CONFIGURING"], JobState.RUNNING),
        (["NODE_FAIL"], JobState.NODE_FAIL),
        ("TIMEOUT", JobState.TIMEOUT),
        ([], JobState.UNKNOWN),
    ],
)
def test_states(words: Any, state: JobState) -> None:
    assert read_one(controlled(job_state=words)).state == state


def test_what_is_only_planned_is_not_set() -> None:
    waiting = controlled(
        job_state=["PENDING"], nodes="", gres_detail=[], start_time=number(9000), end_time=number(9600)
    )
    found = read_one(waiting)
    assert (found.started, found.ended, found.gpus, found.gpus_requested) == (None, None, 0, 5)
    assert (found.node_count, found.exit_code) == (2, None)


def test_a_job_cancelled_before_it_started_held_nothing() -> None:
    cancelled = controlled(job_state=["CANCELLED"], nodes="", gres_detail=[], end_time=number(2000))
    assert (read_one(cancelled).started, read_one(cancelled).ended, read_one(cancelled).gpus) == (None, 2000, 0)
    time = accounted()["time"] | {"start": 4294967294}
    found = read_one(accounted(time=time, state={"current": ["CANCELLED"], "reason": "None"}))
    assert (found.started, found.ended, found.gpus, found.gpus_requested) == (None, 2600, 0, 4)


@pytest.mark.parametrize(
    ("allocated", "gpus", "gpu_type"),
    [
        ([gres("gpu", 4), gres("gpu:h100", 4)], 4, "h100"),  # one GPU is counted once
        ([gres("gpu:h100", 4)], 4, "h100"),
        ([gres("gpu", 4)], 4, None),
        ([gres("gpu:h100", 1), gres("gpu:h200", 2)], 3, "h100+h200"),
        ([gres("gpu", 3), gres("gpu:h100", 1)], 3, None),
        ("cpu=2,gres/gpu=4,gres/gpu:h100=4", 4, "h100"),
        ([gres("shard", 4)], 0, None),
        ([], 0, None),
    ],
)
def test_resources_of_the_accounting(allocated: Any, gpus: int, gpu_type: str | None) -> None:
    found = read_one(accounted(tres={"allocated": allocated, "requested": [gres("gpu", 4)]}))
    assert (found.gpus, found.gpu_type) == (gpus, gpu_type)


@pytest.mark.parametrize(
    ("changes", "gpus"),
    [
        ({"tres_per_job": "gres/gpu:5"}, 5),
        ({"tres_per_job": "", "tres_per_node": "gres/gpu:h100:1,gres/gpu:h200:1"}, 4),
        ({"tres_per_job": "", "tres_per_task": "gres/gpu=2", "tasks": number(3)}, 6),
        ({"tres_per_job": "", "tres_per_node": "gres:gpu:4"}, 8),
        ({"tres_per_job": "", "tres_req_str": "cpu=2,gres/gpu=7"}, 7),
    ],
)
def test_a_job_that_has_ended_held_what_it_asked_for_where_nothing_is_tracked(
    changes: dict[str, Any], gpus: int
) -> None:
    ended = {"job_state": ["COMPLETED"], "gres_detail": [], "end_time": number(2500)}
    found = read_one(controlled(**ended, **changes))
    assert (found.gpus, found.gpus_requested) == (gpus, gpus)
    assert [node.node for node in found.node_gpus] == ["gpu1", "gpu2"]


def test_tracked_resources_overrule_details_that_contradict_them() -> None:
    found = read_one(controlled(tres_alloc_str="cpu=2,gres/gpu=8"))
    assert (found.gpus, found.node_gpus) == (8, (NodeGpus("gpu1"), NodeGpus("gpu2")))
    agreeing = read_one(controlled(tres_alloc_str="cpu=2,gres/gpu=5,gres/gpu:h100=5"))
    assert (agreeing.gpus, agreeing.node_gpus[1].indices) == (5, (6,))


def test_gpus_asked_for_on_each_socket_are_not_known_afterwards() -> None:
    job = controlled(job_state=["COMPLETED"], gres_detail=[], tres_per_job="", tres_per_socket="gres/gpu:2")
    reading = read_slurm_jobs_json(document(job), "jobs.json")
    assert str(reading.left_out[0].fault) == (
        "jobs.json:jobs[0].tres_per_socket: asks for GPUs on each socket, and nothing says how many it held; "
        "add gres/gpu to AccountingStorageTRES in slurm.conf"
    )


@pytest.mark.parametrize(
    ("changes", "job_id", "count"),
    [
        ({"array_job_id": number(7), "array_task_id": number(3)}, "7_3", 1),
        ({"array_job_id": number(7), "array_task_string": "1-9%2"}, "7_[1-9%2]", 9),
        ({"array_job_id": 7, "array_task_id": None, "array_task_string": "1,4-6"}, "7_[1,4-6]", 4),
        ({"het_job_id": number(30), "het_job_offset": number(1)}, "30+1", 1),
    ],
)
def test_ids_of_the_controller(changes: dict[str, Any], job_id: str, count: int) -> None:
    found = read_one(controlled(**changes))
    assert (found.id, found.count) == (job_id, count)


@pytest.mark.parametrize(
    ("changes", "job_id", "count"),
    [
        ({"array": {"job_id": 7, "task_id": number(3), "task": ""}}, "7_3", 1),
        ({"array": {"job_id": 7, "task_id": UNSET, "task": "1-10"}}, "7_[1-10]", 10),
        ({"array": {"job_id": 7, "task_id": 0}}, "7_0", 1),
        ({"het": {"job_id": 30, "job_offset": number(0)}}, "30+0", 1),
    ],
)
def test_ids_of_the_accounting(changes: dict[str, Any], job_id: str, count: int) -> None:
    found = read_one(accounted(**changes))
    assert (found.id, found.count) == (job_id, count)


def test_a_requeued_job_has_several_stays_and_a_note_says_where_they_may_be_missing() -> None:
    first = accounted(state={"current": ["NODE_FAIL"], "reason": "None"})
    again = accounted(time=accounted()["time"] | {"start": 3000, "end": 4000}, restart_cnt=1)
    reading = read_slurm_jobs_json(document(first, again), "jobs.json")
    assert [(stay.id, stay.started, stay.ended) for stay in reading.facts] == [("10", 2000, 2600), ("10", 3000, 4000)]
    assert reading.notes == (
        "jobs.json: 1 job was requeued (once); stays before the last may be missing from this document",
    )


@pytest.mark.parametrize(
    ("job", "message", "stake"),
    [
        (
            accounted(time=accounted()["time"] | {"end": 1900}),
            "jobs.json:jobs[1].time.end: is 100 s before the start; correct the record",
            4 * 600.0,
        ),
        (accounted(time=accounted()["time"] | {"end": 0}), "time.end: is missing, and the job is COMPLETED", 2400.0),
        (accounted(time=accounted()["time"] | {"end": 0, "elapsed": 4294967295}), "time.end: is missing", None),
        (
            accounted(state={"current": ["PENDING"], "reason": "None"}),
            "jobs[1].time.start: has a start while the job is PENDING: the record is half written",
            2400.0,
        ),
        (accounted(nodes="gpu[1-"), "jobs[1].nodes: 'gpu[1-' is no list of hosts", 2400.0),
        (accounted(job_id=None), "jobs[1].job_id: is None, and the number of a job is expected", 2400.0),
        (
            accounted(tres={"allocated": [gres("gpu", 1.5)]}),
            "jobs[1].tres.allocated[0].count: is 1.5, and a whole number of 0 or more is expected",
            None,
        ),
        (controlled(start_time="soon", job_state=["FAILED"]), "jobs[1].start_time: is 'soon', and a number", None),
        (controlled(end_time=number(1990), job_state=["FAILED"]), "jobs[1].end_time: is 10 s before the start", None),
        (
            controlled(job_id=-1, job_state=["FAILED"]),
            "jobs[1].job_id: is -1, and a whole number of 0 or more is expected",
            5 * 3600.0,
        ),
        (controlled(submit_time=number(1e15)), "jobs[1].submit_time: is", None),
        ("no job", "jobs.json:jobs[1]: is no object; write the document again", None),
    ],
)
def test_a_job_that_cannot_be_read_is_left_out_with_what_is_at_stake(job: Any, message: str, stake: float) -> None:
    reading = read_slurm_jobs_json(document(accounted(), job), "jobs.json")
    assert (len(reading.facts), reading.rows_read) == (1, 2)
    assert message in str(reading.left_out[0].fault)
    assert reading.left_out[0].gpu_seconds == stake


def without_gpus(**changes: Any) -> dict[str, Any]:
    return accounted(tres={"allocated": [{"type": "cpu", "name": "", "count": 1}], "requested": []}, **changes)


@pytest.mark.parametrize(
    ("line", "stake"),
    [
        ("sbatch --gpus 4 train.sh", 2400.0),
        ("sbatch --gpus=h100:1,h200:2 train.sh", 1800.0),
        ("srun -G2 python", 1200.0),
        ("sbatch --gres gpu:h100:4 train.sh", 4 * 2 * 600.0),
        ("sbatch --gpus-per-node=4 train.sh", 4 * 2 * 600.0),
        ("sbatch --gpus-per-task 2 --ntasks 2 train.sh", None),
    ],
)
def test_an_accounting_that_tracks_no_gpus_says_so(line: str, stake: float | None) -> None:
    reading = read_slurm_jobs_json(document(without_gpus(submit_line=line, allocation_nodes=2)), "jobs.json")
    assert reading.facts == ()
    assert "and its resources name no GPU; add gres/gpu to AccountingStorageTRES" in str(reading.left_out[0].fault)
    assert reading.left_out[0].gpu_seconds == stake


def test_a_job_without_gpus_beside_one_with_them_is_one() -> None:
    reading = read_slurm_jobs_json(document(accounted(), without_gpus()), "jobs.json")
    assert ([job.gpus for job in reading.facts], reading.rows_without_gpus, reading.left_out) == ([4], 1, ())
    plain = read_slurm_jobs_json(document(without_gpus(submit_line="sbatch --gres=tmp:4 x.sh")), "jobs.json")
    assert (plain.facts, plain.rows_without_gpus, plain.left_out) == ((), 1, ())


def test_when_the_controller_wrote_a_document() -> None:
    assert read_slurm_jobs_json(document(controlled(), last_update=number(7000))).written_at == 7000
    assert read_slurm_jobs_json(document(controlled(), last_update=7000)).written_at == 7000
    assert read_slurm_jobs_json(document(controlled(), last_update="soon")).written_at is None
    assert read_slurm_jobs_json(document(accounted())).written_at is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "jobs.json: is empty; expected jobs of Slurm in JSON"),
        ('{"jobs": [{"job_id": 1', "begins like jobs of Slurm in JSON, and breaks off or is damaged"),
        ('{"jobs": 3}', "looks like JSON of another kind; expected jobs of Slurm in JSON"),
        ('["jobs"]', "looks like JSON of another kind"),
        ('{"status":"success","data":{"resultType":"matrix","result":[]}}', "looks like an answer of Prometheus"),
        ("JobID|State|Start\n1|R|x\n", "looks like a table of sacct; expected jobs of Slurm in JSON"),
        ("[" * 100_000, "looks like JSON of another kind"),
        ('{"jobs": [{"job_id": "\ud800"}]}', "begins like jobs of Slurm in JSON, and breaks off or is damaged"),
        ("no idea", "looks like nothing that is known here"),
        (json.dumps({"errors": [{"error": "No", "description": "x"}]}), "holds no jobs, but Slurm's error: No: x"),
    ],
)
def test_what_is_no_such_document_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_slurm_jobs_json(text, "jobs.json")
    assert message in str(caught.value)


def test_an_empty_answer_repeats_slurms_own_error() -> None:
    errors = [{"description": "Unable to query JobId=3", "error": "Invalid job id specified", "error_number": 2017}]
    reading = read_slurm_jobs_json(document(errors=errors), "jobs.json")
    assert (reading.facts, reading.rows_read) == ((), 0)
    assert reading.notes == ("jobs.json: Slurm reports an error: Invalid job id specified: Unable to query JobId=3",)


def test_a_byte_order_mark_is_no_part_of_a_document() -> None:
    assert len(read_slurm_jobs_json("\ufeff" + document(accounted())).facts) == 1
