"""Evaluates a seccomp filter as data, the way the kernel would, for calls of x86-64."""

import errno
import struct

import libseccomp

ARCHITECTURE = 0xC000003E  # AUDIT_ARCH_X86_64
LOAD_WORD, AND, JUMP, RETURN = 0x20, 0x54, 0x05, 0x06
JUMPS = {
    0x15: lambda word, operand: word == operand,
    0x25: lambda word, operand: word > operand,
    0x35: lambda word, operand: word >= operand,
    0x45: lambda word, operand: word & operand != 0,
}


def verdict(instructions: bytes, number: int, arguments=()) -> int:
    """What the filter returns for the call; missing arguments are 0."""
    call = struct.pack("<iIQ6Q", number, ARCHITECTURE, 0, *arguments, *[0] * (6 - len(arguments)))
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = struct.unpack_from("<HBBI", instructions, at * 8)
        at += 1
        if code == LOAD_WORD:
            [accumulator] = struct.unpack_from("<I", call, operand)
        elif code == AND:
            accumulator &= operand
        elif code == JUMP:
            at += operand
        elif code == RETURN:
            return operand
        else:
            at += if_true if JUMPS[code](accumulator, operand) else if_false


def said(returned: int) -> str:
    """A verdict in words: `allow`, `errno EPERM`."""
    if returned == libseccomp.ALLOW:
        return "allow"
    number = returned & 0xFFFF
    if returned == libseccomp.errno_action(number):
        return f"errno {errno.errorcode.get(number, number)}"
    return f"kill ({returned:#x})"
