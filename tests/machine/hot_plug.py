#!/usr/bin/env python3
"""Does on the host what a virtual machine asks for on its console: plugs a device in, takes it away.

usage: hot_plug.py MONITOR PLUGGABLE <console >console
  MONITOR    the unix socket of qemu's monitor (QMP)
  PLUGGABLE  lines "NAME DRIVER BUS": all that may be plugged in
Passes the console on. "MACHINE ask plug NAME" and "MACHINE ask unplug NAME" are carried out, and
what qemu says to it follows as "HOST ...".
"""

import json
import re
import socket
import sys

ASKED = re.compile(rb"MACHINE ask (plug|unplug) ([a-z]+)")
# A device that the guest has let go leaves within seconds.
PATIENCE = 30


class Monitor:
    """qemu's, and which devices it has yet to let go."""

    def __init__(self, path):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(PATIENCE)
        connection.connect(path)
        self.lines = connection.makefile("rw")
        self.leaving = set()
        self.next_message()  # the greeting
        self.execute("qmp_capabilities")

    def next_message(self):
        message = json.loads(self.lines.readline())
        if message.get("event") == "DEVICE_DELETED":
            self.leaving.discard(message["data"].get("device"))
        return message

    def execute(self, command, **arguments):
        """qemu's answer in a word or two; what happens meanwhile is noted."""
        self.lines.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.lines.flush()
        while True:
            message = self.next_message()
            if "error" in message:
                return "refused: " + message["error"]["desc"]
            if "return" in message:
                return "done"

    def plug(self, name, driver, bus):
        while name in self.leaving:
            self.next_message()
        return self.execute("device_add", driver=driver, bus=bus, id=name)

    def unplug(self, name):
        self.leaving.add(name)
        return self.execute("device_del", id=name)


def main() -> int:
    path, pluggable = sys.argv[1:]
    with open(pluggable, encoding="utf-8") as rows:
        places = {name: (driver, bus) for name, driver, bus in map(str.split, rows)}
    monitor = None
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line)
        asked = ASKED.search(line)
        if asked:
            act, name = asked.group(1).decode(), asked.group(2).decode()
            if monitor is None:
                monitor = Monitor(path)
            if name not in places:
                said = "refused: not in the machine's description"
            elif act == "plug":
                said = monitor.plug(name, *places[name])
            else:
                said = monitor.unplug(name)
            sys.stdout.buffer.write(f"HOST {act} {name}: {said}\n".encode())
        sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
