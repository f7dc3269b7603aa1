"""A pod's volumes, made as the kubelet makes them."""

import itertools
import pathlib
import shutil
import subprocess

from pod_manifest import ManifestError, Pod, Volume


class Volumes:
    def __init__(self, pod: Pod, config_maps: dict[str, dict[str, str]], node: pathlib.Path, place: pathlib.Path):
        """`node`: stands for the host's root. `place`: a directory for what the kubelet keeps itself."""
        self.node, self.place, self.versions = node, place, itertools.count(1)
        self.config_maps = {volume.source: place / volume.name for volume in pod.volumes.values() if volume.kind == "configMap"}
        self.sources = {name: self.make(volume) for name, volume in pod.volumes.items()}
        for name, directory in self.config_maps.items():
            if name not in config_maps:
                raise ManifestError(f"{pod.name}: no ConfigMap {name}")
            self.write_config_map(directory, config_maps[name])

    def make(self, volume: Volume) -> pathlib.Path:
        if volume.kind == "hostPath":
            return self.host_path(volume)
        directory = self.place / volume.name
        directory.mkdir(parents=True)
        if volume.in_memory:
            size = f",size={volume.size}" if volume.size else ""
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"rw,mode=0777{size}", "tmpfs", directory], check=True)
        directory.chmod(0o777)
        return directory

    def host_path(self, volume: Volume) -> pathlib.Path:
        path = self.node / volume.source.lstrip("/")
        if volume.host_type == "DirectoryOrCreate" and not path.exists():
            path.mkdir(parents=True, mode=0o755)
        if volume.host_type not in ("Directory", "DirectoryOrCreate"):
            raise ManifestError(f"volume {volume.name}: hostPath of type {volume.host_type!r} is not known here")
        if not path.is_dir():
            raise ManifestError(f"volume {volume.name}: hostPath type check failed: {volume.source} is not a directory")
        return path

    def change_config_map(self, name: str, data: dict[str, str]) -> None:
        self.write_config_map(self.config_maps[name], data)

    def write_config_map(self, directory: pathlib.Path, data: dict[str, str]) -> None:
        """A new directory, and `..data` renamed over the old link: all files change at once."""
        before = directory / "..data"
        old = before.resolve() if before.is_symlink() else None
        new = directory / f"..2026_11_22_00_00_00.{next(self.versions)}"
        new.mkdir(mode=0o755)
        for name, text in data.items():
            (new / name).write_text(text)
            (new / name).chmod(0o644)
        (directory / "..data_tmp").symlink_to(new.name)
        (directory / "..data_tmp").rename(before)
        for name in data:
            if not (directory / name).is_symlink():
                (directory / name).symlink_to(f"..data/{name}")
        if old is not None:
            shutil.rmtree(old)
