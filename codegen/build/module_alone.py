

class _Opened(_Model):
    """A model by itself."""

    __slots__ = ()

    def __init__(self, threads: int = 0, seed: int = 0, device: Optional[str] = None):
        """Initial weights are drawn from the seed. threads: 0 stands for one for each core. device: as
        the library's function open_on takes it; None is a GPU where the library and the machine have one."""
        self._start(_open_on, threads, seed, device)
