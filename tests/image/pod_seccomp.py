"""Which seccomp filter a runtime loads for a container."""

import json
import pathlib
import sys

from pod_manifest import Container, ManifestError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import runtime_profiles  # noqa: E402
import seccomp_profile  # noqa: E402

Unavailable = runtime_profiles.Unavailable
of_runtimes = runtime_profiles.fetched


class SeccompProfiles:
    """`default`: the runtime's; `directory`: the kubelet's, for profiles of a node."""

    def __init__(self, default: dict, directory: pathlib.Path):
        self.default, self.directory = default, directory

    def filter_of(self, container: Container) -> bytes:
        """Empty: none."""
        wanted = container.seccomp
        if wanted.kind == "Unconfined":
            return b""
        if container.drop != ("ALL",) or container.may_escalate:
            raise ManifestError(f"{container.name}: what profile a container with power gets is not known here")
        profile = self.default
        if wanted.kind == "Localhost":
            try:
                profile = json.loads((self.directory / wanted.file).read_text())
            except OSError as error:
                raise ManifestError(f"{container.name}: cannot load seccomp profile {wanted.file}: {error.strerror}") from error
        return seccomp_profile.filter_of(profile, capabilities=set())
