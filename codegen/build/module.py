class Error(RuntimeError):
    """What the library could not do, in its words."""


class DLPack(Protocol):
    """An array of another library, on the CPU."""

    def __dlpack__(self, **options: Any) -> Any: ...


Input = Union[ArrayLike, DLPack]
_Result = TypeVar("_Result")
_Self = TypeVar("_Self", bound="_Model")


class _Tensor(NamedTuple):
    name: str
    dtype: np.dtype[Any]
    # a number, or (factor, indices of extents), for each axis, of an input one extent; of an output also
    # such a one and a number that is added
    shape: Tuple[Any, ...]
    text: str  # "float32 [n, 784]"


def _size(dim: Any, sizes: List[Any]) -> int:
    if isinstance(dim, int):
        return dim
    if isinstance(dim[0], tuple):
        return max(_size(dim[0], sizes) + dim[1], 0)
    return dim[0] * prod(sizes[i] for i in dim[1:])


_c_types = {
    "bool": ctypes.c_bool,
    "uint8": ctypes.c_uint8,
    "int8": ctypes.c_int8,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}  # halves are passed as their bits


def _numbers(value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Numbers of Python in the dtype; unchanged where they would lose their kind or value."""
    array = np.asarray(value)
    if array.dtype.kind in "iu" and dtype.kind in "iu":
        cast = array.astype(dtype)
        return cast if np.array_equal(cast, array) else array
    if np.can_cast(array.dtype, dtype, "same_kind") or dtype.kind == "V":
        return array.astype(dtype)
    return array


def _given(value: Any) -> str:
    """A value that is refused, as messages show it."""
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


_kinds = {"bool": "a bool", "int32": "an int", "uint64": "an int", "float32": "a float", "float64": "a float"}


def _scalar(name: str, dtype: str, value: Any) -> Any:
    """The value as a bool, int or float of Python; ctypes would cut it to the dtype's bits, or not name it."""
    number: Any = None
    try:
        if dtype == "bool" and isinstance(value, (bool, np.bool_)):
            number = bool(value)
        elif "int" in dtype:
            number = value.__index__()
        elif "float" in dtype and not isinstance(value, (str, bytes)):
            number = float(value)
    except (AttributeError, OverflowError, TypeError, ValueError):
        pass
    if number is None:
        raise TypeError(f"{name} is {_given(value)}; {_kinds[dtype]} is expected")
    if dtype != "bool":
        limits: Any = np.iinfo(dtype) if "int" in dtype else np.finfo(dtype)
        if not limits.min <= number <= limits.max and abs(number) < float("inf"):
            raise ValueError(f"{name} is {number}; {_kinds[dtype]} from {limits.min} to {limits.max} is expected")
    return number


def _hyper(name: str, dtype: str, value: Any) -> Any:
    """The value of a hyper, which is finite as on the command line."""
    number = _scalar(name, dtype, value)
    if not abs(number) < float("inf"):
        raise ValueError(f"{name} is {number}; a finite number is expected")
    return number


def _array(value: Any, tensor: _Tensor) -> NDArray[Any]:
    """The value as a dense array of the tensor's dtype; the same memory where it is one."""
    whole = bool(tensor.shape) and hasattr(value, "dtype")  # an array, whose dtype is its own
    try:
        if tensor.shape and isinstance(value, np.ndarray):
            array = value
        elif tensor.shape and hasattr(value, "__dlpack__"):
            array = np.from_dlpack(value)
        elif tensor.shape and hasattr(value, "__array__"):
            array = np.asarray(value)
        else:
            array = _numbers(value, tensor.dtype)
    except (BufferError, RuntimeError, TypeError, ValueError) as e:
        raise TypeError(f"{tensor.name} is no array: {e}; {tensor.text} is expected") from e
    bits = tensor.dtype == _bfloat16 and array.dtype == np.uint16
    if array.dtype != tensor.dtype and not bits:
        if not whole:
            raise TypeError(f"{tensor.name} is {_given(value)}, not {tensor.text}")
        raise TypeError(f"{tensor.name} is {array.dtype} {list(array.shape)}, not {tensor.text}; convert it first")
    return np.asarray(array, order="C")


class _Room:
    """Memory of a large result, which a later run takes again once nothing refers to it: fresh pages cost more than
    what is written to them."""

    LARGE, SPARE = 1 << 17, 2  # bytes, above which malloc asks the system for pages; blocks that are kept

    def __init__(self) -> None:
        self.free: List[NDArray[np.uint8]] = []

    def give(self, block: NDArray[np.uint8]) -> None:
        if len(self.free) < self.SPARE:
            self.free.append(block)

    def empty(self, shape: List[int], dtype: np.dtype[Any]) -> NDArray[Any]:
        size = prod(shape) * dtype.itemsize
        if size < self.LARGE:
            return np.empty(shape, dtype)
        try:
            block = self.free.pop()
        except IndexError:
            block = np.empty(0, np.uint8)
        if block.size < size:  # a result that grows from run to run seldom needs another one
            block = np.empty(size + size // 2, np.uint8)
        owner = (ctypes.c_uint8 * size).from_buffer(block)  # all views of the result refer to it
        weakref.finalize(owner, self.give, block).atexit = False
        return np.ndarray(shape, dtype, owner)


class _Entry(Generic[_Result]):
    """An entry's function, and what it takes and gives."""

    def __init__(
        self,
        function: str,
        extents: Tuple[str, ...],
        inputs: Tuple[_Tensor, ...],
        outputs: Tuple[_Tensor, ...],
        result: Callable[..., _Result],
    ):
        self.function = getattr(_library, function)
        self.extents, self.inputs, self.outputs, self.result = extents, inputs, outputs, result
        self.rooms = [_Room() for _ in outputs]
        self.function.restype = ctypes.c_bool
        self.function.argtypes = [
            ctypes.c_void_p,
            *(ctypes.c_int for _ in extents),
            *(ctypes.c_void_p if t.shape else _c_types.get(t.dtype.name, ctypes.c_uint16) for t in inputs),
            *(ctypes.c_void_p for _ in outputs),
        ]

    def sizes(self, arrays: List[NDArray[Any]]) -> List[Any]:
        """The extents, by the shapes of the inputs."""
        sizes: List[Any] = [None] * len(self.extents)
        for tensor, array in zip(self.inputs, arrays):
            before, fits = list(sizes), array.ndim == len(tensor.shape)
            for found, wanted in zip(array.shape, tensor.shape):
                if isinstance(wanted, int):
                    fits = fits and found == wanted
                    continue
                product, more = (wanted[0], wanted[1]) if isinstance(wanted[0], tuple) else (wanted, 0)
                factor, extent = product
                size, rest = divmod(found - more, factor)
                fits = fits and found >= more and not rest and sizes[extent] in (None, size)
                if sizes[extent] is None and found >= more:
                    sizes[extent] = size
            if not fits:
                known = [f"{n} = {s}" for n, s in zip(self.extents, before) if s is not None and n in tensor.text]
                where = f" where {', '.join(known)}" if known else ""
                raise ValueError(f"{tensor.name} is {array.dtype} {list(array.shape)}, not {tensor.text}{where}")
        return sizes

    def run(self, model: _Model, values: Tuple[Any, ...]) -> _Result:
        arrays = [_array(v, t) for v, t in zip(values, self.inputs)]
        sizes = self.sizes(arrays)
        results = [room.empty([_size(n, sizes) for n in t.shape], t.dtype) for room, t in zip(self.rooms, self.outputs)]
        bits = [a if a.dtype.name in _c_types else a.view(np.uint16) for a in arrays]
        arguments = [a.ctypes.data if t.shape else a.item() for a, t in zip(bits, self.inputs)]
        model._call(self.function, *sizes, *arguments, *(r.ctypes.data for r in results))
        return self.result(*(r if r.ndim else r.item() for r in results))


class _Model:
    """Common to all models: a handle of the library."""

    __slots__ = ("_handle", "_lock", "__weakref__")  # a hyper's name that is written wrong is an error

    def _start(self, opens: Callable[..., Optional[int]], threads: int, seed: int, device: Optional[str]) -> None:
        self._lock = threading.Lock()
        self._handle: Optional[int] = None
        if device is not None and not isinstance(device, str):
            raise TypeError(f"device is {_given(device)}; a str as 'cpu' or 'cuda:0', or None, is expected")
        name = None if device is None else os.fsencode(device)
        self._handle = opens(name, _scalar("threads", "int32", threads), _scalar("seed", "uint64", seed))
        if not self._handle:
            raise Error(_error(None).decode())

    def _call(self, function: Any, *arguments: Any) -> None:
        with self._lock:
            if not self._handle:
                raise Error("the model is closed")
            if not function(self._handle, *arguments):
                raise Error(_error(self._handle).decode())

    def _ask(self, function: Any, *arguments: Any) -> Any:
        with self._lock:
            if not self._handle:
                raise Error("the model is closed")
            return function(self._handle, *arguments)

    def close(self) -> None:
        """Frees the memory and ends the threads. A with statement does it, too."""
        with self._lock:
            if self._handle:
                _close(self._handle)
                self._handle = None

    def __getstate__(self) -> Any:
        raise TypeError("a model cannot be copied or pickled; save its weights, and load them in another one")

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if _close and getattr(self, "_handle", None):
            self.close()

    def load(self, path: Union[str, os.PathLike[str]]) -> None:
        """Weights and states from a safetensors file. One that does not fit changes nothing."""
        self._call(_load, os.fsencode(path))

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Weights and states as a safetensors file, whole or not at all."""
        self._call(_save, os.fsencode(path))

    def reset(self, seed: int = 0) -> None:
        """New initial weights, states and optimizer. Hypers stay as they are."""
        self._call(_reset, _scalar("seed", "uint64", seed))

    @property
    def threads(self) -> int:
        """The threads that a call works on."""
        return int(self._ask(_threads))

    @property
    def device(self) -> str:
        """Where the model is: the CPU, or a GPU with its number."""
        return str(self._ask(_device).decode())

    @property
    def bytes(self) -> int:
        """Bytes of memory that a model on the CPU takes."""
        return int(_bytes())
