"""Ranks of MPI sum what they hold, and each compares every sum with what it has to be: first a mebibyte at once, then
as many messages of 8 bytes as the argument says."""
import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
ALL = sum(range(1, ranks + 1))


def sums(count, seed):
    """What this rank adds, and what all add up to."""
    values = range(seed, seed + count)
    return array("q", ((rank + 1) * at for at in values)), array("q", (ALL * at for at in values))


def reduce_and_compare(count, seed):
    mine, expected = sums(count, seed)
    found = array("q", bytes(8 * count))
    world.Allreduce([mine, MPI.INT64_T], [found, MPI.INT64_T])
    if found != expected:
        sys.exit(f"rank {rank}: {count} sums from {seed} on are wrong")


reduce_and_compare(131072, 1)
for seed in range(int(sys.argv[1])):
    reduce_and_compare(1, seed)
world.Barrier()
if rank == 0:
    print(f"{ranks} ranks agree")
