"""What all Python packages made by `farfel export python` share."""

import operator
import os
import sys

import cffi
import numpy


COMPARISONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}


class Error(Exception):
    """A call of Fortran failed.

    `kind` is the name of the error, such as "STOP" or "BOUNDS", `file` and `line` its place in the Fortran
    source, "" and 0 if there is none, and `code` the code of STOP, the IOSTAT, or for "STATUS" the value of
    the argument that says what went wrong.
    """

    def __init__(self, message, kind, file, line, code):
        super().__init__(message)
        self.kind = kind
        self.file = file
        self.line = line
        self.code = code


def quotient(a, b):
    """The quotient of integers in Fortran, which drops the fraction."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    """MOD, which has the sign of its first argument."""
    return a - quotient(a, b) * b


def power(a, b):
    """The power of integers in Fortran: a fraction is 0."""
    if b >= 0:
        return a**b
    return quotient(1, a**-b)


class Library:
    """The shared library."""

    def __init__(self, module, declarations, name, results, own):
        self.ffi = cffi.FFI()
        self.ffi.cdef(declarations)
        names = {"darwin": f"lib{name}.dylib", "win32": f"{name}.dll"}
        file = names.get(sys.platform, f"lib{name}.so")
        self.functions = self.ffi.dlopen(os.path.join(os.path.dirname(module), file))
        self.results = results
        self.own = own

    def error(self, number):
        """The exception for the result of the last call of this thread."""
        def text(name):
            return self.ffi.string(getattr(self.functions, self.own[name])()).decode("utf-8", "replace")

        def count(name):
            return getattr(self.functions, self.own[name])()

        kind = self.results[number]
        return Error(text("error_message"), kind, text("error_file"), count("error_line"), count("error_code"))


class Instance:
    """COMMON and saved variables, one set for each value."""

    def __init__(self, library, type_name, pointer=None):
        self._library = library
        self._type = type_name
        call = getattr(library.functions, type_name + "_new")
        # Freed when nothing refers to it any more.
        free = getattr(library.functions, type_name + "_free")
        self._pointer = library.ffi.gc(call() if pointer is None else pointer, free)

    def _cloned(self):
        place = self._library.ffi.new(self._type + " **")
        clone = getattr(self._library.functions, self._type + "_clone")
        number = clone(self._pointer, place)
        if number != 0:
            raise self._library.error(number)
        return place[0]


class Call:
    """A call in the making: it converts arguments, calls, and returns results."""

    def __init__(self, library, function):
        self.library = library
        self.ffi = library.ffi
        self.function = function
        self.passed = []
        self.results = []
        # What must live until the call has ended.
        self.kept = []
        # The exception of a procedure.
        self.raised = None
        # Scalars that are assigned, and which values of them are errors.
        self.variables = {}
        self.statuses = []

    def wrong(self, argument, why, kind=ValueError):
        return kind(f"{self.function}: argument `{argument}` {why}")

    def pointer(self, array, type_name):
        return self.ffi.cast(type_name + " *", array.ctypes.data)

    # The arguments, converted.

    def array(self, name, value, dtype, rank, assigned):
        """An array: one that is only read is converted if it has to be, one that is assigned must fit."""
        dtype = numpy.dtype(dtype)
        if not assigned:
            array = numpy.asarray(value)
            if array.dtype != dtype and not numpy.can_cast(array.dtype, dtype, "same_kind"):
                raise self.wrong(name, f"has elements of type {array.dtype}, and {dtype} is needed", TypeError)
            given, array = array, numpy.asarray(array, dtype=dtype, order="F")
            if dtype.kind == "i" and given.dtype.kind in "iu" and not numpy.array_equal(given, array):
                raise self.wrong(name, f"has a value that {dtype} cannot hold", OverflowError)
        else:
            array = value
            if not isinstance(array, numpy.ndarray):
                raise self.wrong(name, "is assigned, and must be a numpy array", TypeError)
            if array.dtype != dtype:
                raise self.wrong(name, f"has elements of type {array.dtype}, and {dtype} is needed", TypeError)
            if not array.flags.writeable:
                raise self.wrong(name, "is assigned, and this array is read-only")
            if not array.flags.f_contiguous:
                raise self.wrong(name, "is assigned, and its elements are not in Fortran's order: numpy.asfortranarray helps")
            if not array.flags.aligned:
                raise self.wrong(name, "is not aligned")
        if array.ndim != rank and array.ndim != 1:
            raise self.wrong(name, f"has {array.ndim} dimensions, and {rank} are needed")
        return array

    def size(self, name, value, *sources):
        """A size: the one that was given, or else that of the arrays that have it."""
        if value is not None:
            return value
        found = None
        for argument, array, rank, dimension in sources:
            if array.ndim != rank:
                continue
            own = array.shape[dimension]
            if found is None:
                found = own, argument
            elif found[0] != own:
                raise self.wrong(
                    argument, f"has extent {own} in dimension {dimension + 1}, and {found[0]} is needed, "
                    f"as `{found[1]}` has: `{name}` is not given"
                )
        if found is None:
            raise TypeError(f"{self.function}: argument `{name}` is needed, since no array has this extent")
        return found[0]

    def extents(self, name, array, *extents):
        """Checks the extents of a matrix but the last: elements would be elsewhere than Fortran expects."""
        if array.ndim != len(extents):
            return
        for dimension, (own, needed) in enumerate(zip(array.shape, extents)):
            last = dimension + 1 == array.ndim
            if needed is not None and (own < needed if last else own != needed):
                raise self.wrong(name, f"has extent {own} in dimension {dimension + 1}, and {needed} is needed")

    def zeros(self, name, dtype, *extents):
        """An array that the subprogram sets."""
        try:
            return numpy.zeros([max(extent, 0) for extent in extents], dtype=dtype, order="F")
        except (MemoryError, ValueError, TypeError) as error:
            raise self.wrong(name, f"cannot have the extents {extents}: {error}") from None

    # The arguments, passed.

    def pass_instance(self, instance):
        self.passed.append(instance._pointer)

    def pass_value(self, name, value, dtype, type_name):
        self.passed.append(self.scalar(name, value, dtype, type_name))

    def scalar(self, name, value, dtype, type_name):
        if isinstance(value, numpy.ndarray) and value.ndim == 0:
            value = value[()]
        try:
            if dtype == "bool":
                if not isinstance(value, (bool, numpy.bool_)):
                    raise TypeError("True or False")
                return bool(value)
            if dtype.startswith("int"):
                if isinstance(value, (bool, numpy.bool_)):
                    raise TypeError("an integer")
                value = value.__index__()
                limits = numpy.iinfo(dtype)
                if not limits.min <= value <= limits.max:
                    raise OverflowError
                return value
            if dtype.startswith("complex"):
                value = complex(value)
                return self.ffi.new(type_name + " *", (value.real, value.imag))[0]
            return float(value)
        except OverflowError:
            raise self.wrong(name, f"is {value}, which {dtype} cannot hold", OverflowError) from None
        except (TypeError, ValueError, AttributeError):
            raise self.wrong(name, f"is {value!r}, and must be {dtype}", TypeError) from None

    def pass_array(self, array, type_name, returned=False):
        self.kept.append(array)
        if returned:
            self.results.append(lambda: array)
        self.passed.append(self.pointer(array, type_name))
        self.passed.append(array.size)

    def pass_variable(self, name, value, dtype, type_name, returned=True):
        """A scalar that is assigned; its new value is returned, unless it only says what went wrong."""
        place = self.ffi.new(type_name + " *")
        place[0] = self.scalar(name, value, dtype, type_name)
        self.kept.append(place)
        self.passed.append(place)
        self.variables[name] = place
        if returned:
            self.results.append(lambda: self.python_value(place[0], dtype))

    def status(self, name, conditions, meanings):
        """Values of a scalar that are errors, and what values mean."""
        self.statuses.append((name, conditions, meanings))

    def check(self):
        """Raises an error if a status is one."""
        for name, conditions, meanings in self.statuses:
            value = self.variables[name][0]
            if any(COMPARISONS[operator](value, than) for operator, than in conditions):
                said = [text for operator, than, text in meanings if COMPARISONS[operator](value, than)]
                meaning = f": {said[0]}" if said else ""
                raise Error(f"{self.function}: `{name}` is {value}{meaning}", "STATUS", "", 0, value)

    def python_value(self, value, dtype):
        return complex(value.re, value.im) if dtype.startswith("complex") else value

    def pass_text(self, name, value):
        if not isinstance(value, str):
            raise self.wrong(name, f"is {value!r}, and must be a str", TypeError)
        text = value.encode("utf-8")
        held = self.ffi.new("char[]", text)
        self.kept.append(held)
        self.passed.extend([held, len(text)])

    def pass_text_variable(self, name, value, least, is_open):
        """A text that is assigned; its new value is returned."""
        if not isinstance(value, str):
            raise self.wrong(name, f"is {value!r}, and must be a str", TypeError)
        text = value.encode("utf-8")
        if not is_open and len(text) > least:
            raise self.wrong(name, f"has {len(text)} bytes, and {least} are the most")
        length = max(len(text), least)
        held = self.ffi.new("char[]", text.ljust(length) + b"\0")
        self.kept.append(held)
        self.passed.extend([held, length])
        self.results.append(
            lambda: bytes(self.ffi.buffer(held, length)).decode("utf-8", "replace").rstrip(" ")
        )

    def pass_procedure(self, name, procedure, type_name, arguments, value):
        """A callable. It gets numbers, and numpy arrays that are copies; what it assigns is copied back.

        `arguments` has the type, whether it is an array, and whether it is assigned. A scalar that may be
        assigned is an array without dimensions: `x[()] = 1`.
        """
        if not callable(procedure):
            raise self.wrong(name, "is not callable", TypeError)

        def called(context, *given):
            if self.raised is not None:
                return 1
            try:
                given = iter(given)
                actual, back = [], []
                for dtype, is_array, assigned in arguments:
                    first = next(given)
                    if not is_array and not assigned:
                        actual.append(self.python_value(first, dtype))
                        continue
                    count = next(given) if is_array else 1
                    size = count * numpy.dtype(dtype).itemsize
                    memory = self.ffi.buffer(first, size) if size else bytearray()
                    view = numpy.frombuffer(memory, dtype=dtype)
                    copy = view.copy()
                    if assigned:
                        back.append((view, copy))
                    if is_array:
                        copy.flags.writeable = assigned
                    actual.append(copy if is_array else copy.reshape(()))
                result = procedure(*actual)
                for view, copy in back:
                    view[...] = copy
                if value is not None:
                    dtype, result_type = value
                    next(given)[0] = self.scalar(f"{name} (its value)", result, dtype, result_type)
                return 0
            except BaseException as error:
                self.raised = error
                return 1

        function = self.ffi.callback(type_name, called, error=1)
        self.kept.append(function)
        self.passed.extend([function, self.ffi.NULL])

    def run(self, name, value=None):
        """Calls the function, and returns what it returns: nothing, a value, or a tuple of them."""
        results = self.results
        if value is not None:
            dtype, type_name = value
            place = self.ffi.new(type_name + " *")
            self.passed.append(place)
            results = [lambda: self.python_value(place[0], dtype)] + results
        number = getattr(self.library.functions, name)(*self.passed)
        if self.raised is not None:
            raise self.raised
        if number != 0:
            raise self.library.error(number)
        self.check()
        values = tuple(result() for result in results)
        return {0: None, 1: values[0] if values else None}.get(len(values), values)
