

class _Rank(_Model):
    """One of the ranks that train together. All of them open, close, load, save and reset the model, and call the
    entries that share the batch, in one order. Such a call fails on all ranks or on none."""

    __slots__ = ()

    @property
    def rank(self) -> int:
        """Of this process."""
        return int(self._ask(_rank))

    def set_timeout(self, seconds: float) -> None:
        """A rank that waits longer for another one has lost it: the call fails, and so do all later ones."""
        self._ask(_set_timeout, _scalar("seconds", "float64", seconds))
