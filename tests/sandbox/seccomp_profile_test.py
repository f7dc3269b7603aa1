#!/usr/bin/env python3
"""That seccomp profiles are compiled and evaluated as a runtime and the kernel do. Exit 77: it cannot be run here."""

import ctypes
import errno
import os
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import against_programs  # noqa: E402
import bpf  # noqa: E402
import libseccomp  # noqa: E402
import load_filter  # noqa: E402
import runtime_profiles  # noqa: E402
import seccomp_profile  # noqa: E402

CLONE_THREAD = 0x10000
NO_CAPABILITIES = frozenset()


def profiles() -> list[runtime_profiles.RuntimeProfile]:
    return list(runtime_profiles.fetched().values())


def refused(instructions: bytes, call: int, arguments: list[int]) -> str:
    """What the profile answers instead; empty where it permits the call."""
    answer = bpf.said(bpf.verdict(instructions, call, arguments))
    return "" if answer == "allow" else answer


class Profile(unittest.TestCase):
    def test_docker_refuses_what_containerd_was_seen_to_refuse(self):
        instructions = {profile.runtime: seccomp_profile.filter_of(profile.profile, NO_CAPABILITIES) for profile in profiles()}
        number = libseccomp.number_of("unshare")
        self.assertEqual(refused(instructions["Docker"], number, [CLONE_THREAD]), "errno EPERM")
        self.assertEqual(refused(instructions["Podman"], number, [CLONE_THREAD]), "")

    def test_the_kernel_answers_as_evaluated(self):
        calls = {"unshare": [CLONE_THREAD], "clone3": [0, 0], "personality": [1], "getpid": [], "io_uring_setup": [0, 0]}
        for profile in profiles():
            instructions = seccomp_profile.filter_of(profile.profile, NO_CAPABILITIES)
            for call, arguments in calls.items():
                with self.subTest(profile=str(profile), call=call):
                    answer = refused(instructions, libseccomp.number_of(call), arguments)
                    if answer:
                        self.assertEqual(f"errno {self.kernels_errno(instructions, call, arguments)}", answer)
                    else:
                        bare = self.kernels_errno(b"", call, arguments)
                        self.assertEqual(self.kernels_errno(instructions, call, arguments), bare)

    @staticmethod
    def kernels_errno(instructions: bytes, call: str, arguments: list[int]) -> str:
        """Empty where it succeeds."""
        child = os.fork()
        if child == 0:
            load_filter.set_no_new_privileges()
            if instructions:
                load_filter.load(instructions)
            ctypes.set_errno(0)
            load_filter.LIBC.syscall(libseccomp.number_of(call), *[ctypes.c_long(argument) for argument in arguments])
            os._exit(ctypes.get_errno())
        return errno.errorcode.get(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), "")

    def test_what_is_not_known_of_a_profile_is_an_error(self):
        bare = {"defaultAction": "SCMP_ACT_ERRNO", "syscalls": []}
        entry = {"names": ["read"], "action": "SCMP_ACT_ALLOW"}
        odd = {
            "flags": bare | {"flags": ["SECCOMP_FILTER_FLAG_LOG"]},
            "SCMP_ACT_TRAP": bare | {"defaultAction": "SCMP_ACT_TRAP"},
            "not for SCMP_ARCH_X86_64": bare | {"architectures": ["SCMP_ARCH_AARCH64"]},
            "priority": bare | {"syscalls": [entry | {"priority": 1}]},
            "SCMP_CMP_GE": bare | {"syscalls": [entry | {"args": [{"index": 0, "value": 1, "op": "SCMP_CMP_GE"}]}]},
            "two conditions": bare | {"syscalls": [entry | {"args": 2 * [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]}]},
            "users": bare | {"syscalls": [entry | {"includes": {"users": ["root"]}}]},
        }
        for words, profile in odd.items():
            with self.subTest(words), self.assertRaisesRegex(seccomp_profile.ProfileError, words):
                seccomp_profile.filter_of(profile, NO_CAPABILITIES)

    def test_an_entry_counts_where_its_conditions_are_met(self):
        def answer(capabilities=NO_CAPABILITIES, **conditions):
            entry = {"names": ["bpf"], "action": "SCMP_ACT_ALLOW"} | conditions
            profile = {"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": errno.ENOSYS, "syscalls": [entry]}
            return refused(seccomp_profile.filter_of(profile, capabilities), libseccomp.number_of("bpf"), [])

        for kind, if_met in (("includes", ""), ("excludes", "errno ENOSYS")):
            other = "errno ENOSYS" if if_met == "" else ""
            met = [{"arches": ["arm64", "amd64"]}, {"minKernel": "3.0"}, {"caps": ["CAP_BPF"]}]
            unmet = [{"arches": ["arm64"]}, {"minKernel": "99.1"}, {"caps": ["CAP_SYS_ADMIN"]}]
            for conditions, wanted in [(one, if_met) for one in met] + [(one, other) for one in unmet]:
                with self.subTest(kind, conditions=conditions):
                    self.assertEqual(answer({"CAP_BPF"}, **{kind: conditions}), wanted)
        self.assertEqual(answer(action="SCMP_ACT_ERRNO", errnoRet=errno.EINVAL), "errno EINVAL")


def main():
    try:
        profiles()
    except runtime_profiles.Unavailable as reason:
        against_programs.skip(str(reason))
    against_programs.run(sys.argv[1:])


if __name__ == "__main__":
    main()
