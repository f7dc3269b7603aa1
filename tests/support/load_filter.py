"""Loads a seccomp filter into this process, as a runtime does last of all before the process becomes the program."""

import ctypes
import os

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_SECCOMP, SECCOMP_MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38
BYTES_OF_AN_INSTRUCTION = 8


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def control(option: int, *arguments) -> None:
    if LIBC.prctl(option, *arguments) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}: {os.strerror(ctypes.get_errno())}")


def set_no_new_privileges() -> None:
    control(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def load(instructions: bytes) -> None:
    """Refused without no_new_privs or CAP_SYS_ADMIN."""
    program = Program(len(instructions) // BYTES_OF_AN_INSTRUCTION, instructions)
    control(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))
