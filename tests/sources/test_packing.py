"""GPUs for what is there at step 0: never one twice, never one that is lost, whole blocks where there are some."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loadfactor.model import Cluster, Node, Service, Unavailable
from loadfactor.sources.packing import Floor, Need, has_block, is_block


def cluster_of(*gpus: int, unavailable: tuple[Unavailable, ...] = ()) -> Cluster:
    return Cluster(nodes=tuple(Node(name=f"n{i}", gpus=count) for i, count in enumerate(gpus)), unavailable=unavailable)


def test_the_fullest_node_that_has_room_is_taken() -> None:
    places = Floor(cluster_of(8, 8)).place_all([Need("a", 4, 1), Need("b", 6, 1), Need("c", 2, 1)])
    assert places == {"b": tuple(range(6)), "a": (8, 9, 10, 11), "c": (6, 7)}


def test_large_jobs_get_whole_nodes() -> None:
    places = Floor(cluster_of(4, 8, 8)).place_all([Need("a", 16, 1), Need("b", 4, 1)])
    assert places == {"a": tuple(range(4, 20)), "b": (0, 1, 2, 3)}


def test_without_a_block_the_gpus_are_scattered_over_few_nodes() -> None:
    floor = Floor(cluster_of(8, 8, 8))
    floor.place_all([Need("a", 6, 1), Need("b", 5, 1), Need("c", 4, 1)])
    assert floor.place_all([Need("d", 7, 1)]) == {"d": (13, 14, 15, 20, 21, 22, 23)}


def test_without_room_a_job_is_not_placed_and_others_are() -> None:
    assert Floor(cluster_of(4)).place_all([Need("a", 5, 1), Need("b", 3, 1)]) == {"b": (0, 1, 2)}


def test_a_gpu_that_will_be_lost_serves_only_what_ends_before() -> None:
    lost = (Unavailable(gpus=(0, 1), from_step=3, until_step=5),)
    assert Floor(cluster_of(4, unavailable=lost)).place_all([Need("a", 2, 3)]) == {"a": (0, 1)}
    assert Floor(cluster_of(4, unavailable=lost)).place_all([Need("a", 2, 4)]) == {"a": (2, 3)}


def test_services_hold_the_highest_suitable_free_gpus() -> None:
    nodes = (Node(name="a", gpus=4, gpu_memory_gib=80.0), Node(name="b", gpus=2, gpu_memory_gib=40.0))
    service = Service(id="s", priority=1.0, demand=(3,), max_swap=1, gpu_memory_gib=80.0)
    floor = Floor(Cluster(nodes=nodes, unavailable=(Unavailable(gpus=(3,), from_step=0, until_step=1),)))
    assert floor.hold(service, 2) == (1, 2)
    assert floor.hold(service, 2) == (0,)
    assert floor.hold(service, 2) == ()


def test_blocks() -> None:
    cluster = cluster_of(4, 8, 8)
    assert [has_block(cluster, size) for size in (4, 8, 12, 16, 20, 10, 32)] == [True] * 5 + [False] * 2
    assert is_block(cluster, (4, 5))
    assert not is_block(cluster, (3, 4))
    assert not is_block(cluster, (4, 6))
    assert is_block(cluster, tuple(range(4, 20)))


@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 9)), max_size=15),
    st.lists(st.tuples(st.integers(0, 47), st.integers(0, 5)), max_size=5),
)
def test_no_gpu_twice_none_lost_and_no_room_wasted(
    nodes: list[int], sizes: list[tuple[int, int]], losses: list[tuple[int, int]]
) -> None:
    total = sum(nodes)
    lost = {gpu % total: step for gpu, step in losses}
    unavailable = tuple(Unavailable(gpus=(gpu,), from_step=step, until_step=step + 1) for gpu, step in lost.items())
    needs = [Need(f"j{index}", size, remaining) for index, (size, remaining) in enumerate(sizes)]
    places = Floor(cluster_of(*nodes, unavailable=unavailable)).place_all(needs)
    given_out = [gpu for gpus in places.values() for gpu in gpus]
    assert len(given_out) == len(set(given_out))
    for need in needs:
        gpus = places.get(need.id, ())
        free = [g for g in range(total) if g not in given_out and lost.get(g, 99) >= need.remaining]
        assert len(gpus) == need.size if gpus else len(free) < need.size
        assert all(gpu < total and lost.get(gpu, 99) >= need.remaining for gpu in gpus)
