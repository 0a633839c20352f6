"""What a text looks like: one of every kind, each known by its own question and by no narrower one before it."""

from __future__ import annotations

import json

import pytest

from loadfactor.errors import InputError
from loadfactor.sources.sniff import KINDS, is_json, is_short_cluster, is_slurm_json, looks_like, refuse
from tests.sources.slurm_documents import accounted, controlled, document

EXAMPLES = {
    "a short form of a cluster": ["16x8:H100-80GB", "1x8", " 2x8:H100/80 , 1x4:A100-40GB\n"],
    "an answer of Prometheus": [
        '{"status":"success","data":{"resultType":"matrix","result":[]}}',
        '{"status":"error","errorType":"bad_data","error":"no"}',
    ],
    "objects of Kubernetes": ['{"apiVersion": "v1", "items": [], "kind": "List"}'],
    "jobs of Slurm in JSON": [document(accounted()), document(controlled()), document(), '{"jobs": [{"job_id": 1}]}'],
    "nodes of Slurm in JSON": [
        '{"nodes": [{"name": "n", "gres_used": ""}]}',
        '{"sinfo": [], "meta": {"plugin": {"data_parser": "data_parser\\/v0.0.42"}}}',
    ],
    "another document of Slurm in JSON": ['{"qos": [], "meta": {"plugin": {"type": "openapi/slurmdbd"}}}'],
    "JSON of another kind": ['{"a": 1}', "[1, 2]", '\ufeff{"a": 1}', '{"jobs": 1}'],
    "scontrol show node": ["NodeName=a State=IDLE\n", "\nNodeName=a Arch=x86_64\n   State=IDLE\n"],
    "a table of sacct": ["JobID|State|Start|End\n1|COMPLETED|x|y\n", "JobIDRaw,AllocTRES,Elapsed\n"],
    "a scrape in Prometheus' text format": [
        "# HELP up Whether.\n# TYPE up gauge\nup 1\n",
        'DCGM_FI_DEV_GPU_UTIL{gpu="0",x="}"} 5 1700000000000',
        "up NaN",
    ],
    "a kernel log with XID errors": ["[1.5] NVRM: Xid (PCI:0000:9b:00): 79\n"],
}
UNKNOWN = ["", "hello", "a,b\n1,2\n", "PARTITION AVAIL NODES\ngpu up 3\n", "8", "x" * 30_000, "1x8:\n" * 9000]


def test_every_kind_has_an_example() -> None:
    assert set(EXAMPLES) == set(KINDS)


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in EXAMPLES.items() for text in texts])
def test_examples(kind: str, text: str) -> None:
    assert KINDS[kind](text)
    assert looks_like(text) == kind


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_not_known(text: str) -> None:
    assert looks_like(text) is None


def test_a_narrow_question_is_not_answered_for_another_kind() -> None:
    wider = {"JSON of another kind": is_json, "another document of Slurm in JSON": is_slurm_json}
    for kind, asks in KINDS.items():
        for other, texts in EXAMPLES.items():
            if kind not in (other, *wider):
                assert not any(asks(text) for text in texts), (kind, other)


def test_a_refusal_says_both() -> None:
    with pytest.raises(InputError) as caught:
        refuse(json.dumps({"a": 1}), "x.json", "a table of sacct")
    assert str(caught.value) == (
        "x.json: looks like JSON of another kind; expected a table of sacct; choose the other file, or fetch it again"
    )


def test_short_clusters_are_short() -> None:
    assert not is_short_cluster("1x8," * 9000 + "1x8")
