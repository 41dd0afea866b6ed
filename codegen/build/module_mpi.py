

def _address(ranks: Any) -> int:
    """Where the MPI_Comm lies."""
    if isinstance(ranks, int):
        return ranks
    from mpi4py import MPI

    return int(MPI._addressof(ranks))


class _Opened(_Rank):
    __slots__ = ()

    def __init__(self, ranks: Any, threads: int = 0, seed: int = 0, device: Optional[str] = None):
        """ranks: a communicator of mpi4py, or the address of an MPI_Comm; the model works on a copy of it. Initial
        weights are drawn from rank 0's seed. threads: 0 stands for a share of the machine's cores."""
        self._start(lambda *rest: _open_at(_address(ranks), *rest), threads, seed, device)
