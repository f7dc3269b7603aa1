"""libseccomp by its C interface: its Python module is not there for every python3."""

import ctypes
import os
import tempfile

LIBRARY = ctypes.CDLL("libseccomp.so.2")
C_LIBRARY = ctypes.CDLL(None)
C_LIBRARY.free.argtypes = [ctypes.c_void_p]
NATIVE = 0  # SCMP_ARCH_NATIVE
ALLOW = 0x7FFF0000
OPERATORS = {"SCMP_CMP_NE": 1, "SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}
UNKNOWN_CALL = -1


class Condition(ctypes.Structure):
    """`value` is what the argument is compared with, or the mask if that is compared; `second` is the masked argument."""

    _fields_ = [("index", ctypes.c_uint), ("operator", ctypes.c_int), ("value", ctypes.c_uint64), ("second", ctypes.c_uint64)]


LIBRARY.seccomp_init.argtypes, LIBRARY.seccomp_init.restype = [ctypes.c_uint32], ctypes.c_void_p
LIBRARY.seccomp_release.argtypes, LIBRARY.seccomp_release.restype = [ctypes.c_void_p], None
LIBRARY.seccomp_syscall_resolve_name.argtypes = [ctypes.c_char_p]
LIBRARY.seccomp_syscall_resolve_num_arch.argtypes = [ctypes.c_uint32, ctypes.c_int]
LIBRARY.seccomp_syscall_resolve_num_arch.restype = ctypes.c_void_p
LIBRARY.seccomp_export_bpf.argtypes = [ctypes.c_void_p, ctypes.c_int]
LIBRARY.seccomp_rule_add_array.argtypes = [
    ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Condition)
]


def errno_action(number: int) -> int:
    return 0x00050000 | number


def number_of(call: str) -> int:
    """UNKNOWN_CALL, or another number below 0 for a call of other architectures."""
    return LIBRARY.seccomp_syscall_resolve_name(call.encode())


def name_of(number: int) -> str:
    text = LIBRARY.seccomp_syscall_resolve_num_arch(NATIVE, number)
    if not text:
        return str(number)
    name = ctypes.string_at(text).decode()
    C_LIBRARY.free(text)
    return name


def check(negated_errno: int, what: str) -> None:
    if negated_errno != 0:
        raise OSError(-negated_errno, f"{what}: {os.strerror(-negated_errno)}")


class Filter:
    """Of this architecture alone; a call of another one kills the thread."""

    def __init__(self, default: int):
        self.context = LIBRARY.seccomp_init(default)
        if not self.context:
            raise MemoryError("seccomp_init")

    def add(self, action: int, call: str, conditions: list[Condition]) -> None:
        array = (Condition * len(conditions))(*conditions)
        check(LIBRARY.seccomp_rule_add_array(self.context, action, number_of(call), len(conditions), array), call)

    def instructions(self) -> bytes:
        """As the kernel takes them."""
        with tempfile.TemporaryFile() as file:
            check(LIBRARY.seccomp_export_bpf(self.context, file.fileno()), "the filter's export")
            file.seek(0)
            return file.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        LIBRARY.seccomp_release(self.context)
