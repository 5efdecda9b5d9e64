"""Batches as one array over devices: of one process, and of two that are a job of JAX's."""

from __future__ import annotations

import socket

import pytest
from tests.integration.processes import in_processes

pytest.importorskip("jax")


DEVICES = """
    import jax, numpy as np
    import headrace as hr
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("data", "model"))
    ds = hr.Dataset.range(16).map(lambda x: {"x": np.int32([x, x]), "name": str(x)}).distributed_batch(8)
    for batch in ds.to_jax(sharding=NamedSharding(mesh, P("data"))):
        assert batch["x"].sharding.spec == P("data")
        rows = {shard.device.id: np.asarray(shard.data)[:, 0].tolist() for shard in batch["x"].addressable_shards}
        print("told", ([rows[device.id] for device in mesh.devices.flat], batch["name"].tolist()))
"""


def test_a_batch_lies_on_the_devices_of_one_process_in_its_order() -> None:
    (told,) = in_processes(DEVICES, 1, {"XLA_FLAGS": "--xla_force_host_platform_device_count=4"})
    assert told == [
        ([rows[:4], rows[:4], rows[4:], rows[4:]], list(map(str, rows)))
        for rows in (list(range(8)), list(range(8, 16)))
    ]


# Two processes of two devices each.
GLOBAL = """
    import os
    import jax
    jax.distributed.initialize(os.environ["COORDINATOR"], int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]))
    import numpy as np
    import headrace as hr
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    rank, ranks = jax.process_index(), jax.process_count()
    ds = hr.Dataset.range(16).map(lambda x: (x, np.float64(x) / 2)).distributed_batch(8)
    ds = ds.with_options(hr.Options(rank=rank, world_size=ranks))
    mesh = Mesh(np.array(jax.devices()), ("data",))
    for numbers, halves in ds.to_jax(sharding=NamedSharding(mesh, P("data"))):
        assert numbers.shape == halves.shape == (8,)
        assert halves.dtype == np.float32
        for shard in numbers.addressable_shards:
            print("told", (shard.index[0].start, np.asarray(shard.data).tolist()))
    feed = ds.to_jax(sharding=NamedSharding(mesh, P()))
    try:
        next(iter(feed))
    except hr.errors.InvalidArgumentError as error:
        assert "4 rows of the 4 that each of 2 ranks has" in str(error), error
    else:
        raise AssertionError("each process took its own rows for those of all")
    same = ds.with_options(hr.Options(rank=0, world_size=1)).to_jax(sharding=NamedSharding(mesh, P()))
    assert next(iter(same))[0].shape == (8,)
"""


def test_the_batches_of_two_processes_are_one_array_with_the_rows_of_each_in_turn() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{free.getsockname()[1]}"
    told = in_processes(
        GLOBAL, 2, {"COORDINATOR": coordinator, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    )
    assert told == [
        [(0, [0, 2]), (2, [4, 6]), (0, [8, 10]), (2, [12, 14])],
        [(4, [1, 3]), (6, [5, 7]), (4, [9, 11]), (6, [13, 15])],
    ]
