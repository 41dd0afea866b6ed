

def make_id() -> bytes:
    """The id by which ranks find each other: one process makes it, and a message or a file brings it to the others."""
    place = ctypes.create_string_buffer(128)
    if not _make_id(place):
        raise Error(_error(None).decode())
    return place.raw


class _Opened(_Rank):
    __slots__ = ()

    def __init__(self, id: bytes, rank: int, threads: int = 0, seed: int = 0, device: Optional[str] = None):
        """id: of make_id or ncclGetUniqueId, the same on all ranks. Initial weights are drawn from rank 0's seed. device:
        "cuda:1"; each rank needs a GPU of its own, and None is the first that the process sees."""
        if not isinstance(id, bytes):
            raise TypeError(f"id is {_given(id)}; the bytes of make_id are expected")
        if len(id) != 128:
            raise ValueError(f"an id has 128 bytes, not {len(id)}")
        self._start(lambda *rest: _open_on(id, _scalar("rank", "int32", rank), *rest), threads, seed, device)
