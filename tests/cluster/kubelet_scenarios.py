"""What both kubelets are put through: each scenario yields what was observed, as (what, value)."""

from kubelets import BY_ITSELF, Kubelet
from waiting import wait_for


def registration(kubelet: Kubelet):
    ask = kubelet.recorder.ask
    ask("listen")
    yield "another version", ask("register", "recorder.sock", "v1beta2")
    yield "a name without a domain", ask("register", "recorder.sock", "v1beta1", "plain")
    yield "the platform's own name", ask("register", "recorder.sock", "v1beta1", "kubernetes.io/x")
    yield "calls so far", kubelet.recorder.calls()
    kubelet.plugin("dev-a", "dev-b", "!dev-c")
    yield "calls", kubelet.recorder.calls()
    yield "registered", kubelet.registered()
    yield "allocatable", kubelet.allocatable()
    yield "counted", wait_for("the node counts", lambda: kubelet.counted() if kubelet.counted()[0] else None, seconds=30)
    kubelet.show()
    yield "registered with an empty frame", kubelet.registered()


def order_of_calls(kubelet: Kubelet):
    """A plain init container and two app containers, PreStart wanted."""
    kubelet.plugin("dev-a", "dev-b", "dev-c", options="prestart preferred")
    yield "outcome", kubelet.run(kubelet.pod("vm", ("one", 2), ("two", 1), init=(("first", 1),)))
    yield "calls", kubelet.recorder.calls()
    yield "checkpoint", kubelet.remembered()
    yield "List", kubelet.listed()
    yield "allocatable", kubelet.allocatable()


def refused(kubelet: Kubelet):
    kubelet.plugin("dev-a")
    kubelet.recorder.ask("refuse", "allocate", "0", "0000:01:00.0, group 12: allocated")
    yield "outcome", kubelet.run(kubelet.pod("vm", ("compute", 1)))
    yield "List", kubelet.listed()
    yield "checkpoint", kubelet.remembered()
    kubelet.recorder.ask("refuse")
    yield "the next", kubelet.run(kubelet.pod("next", ("compute", 1)))
    yield "calls", kubelet.recorder.calls()
    yield "List after", kubelet.listed()


def refused_half_way(kubelet: Kubelet):
    """The first container's Allocate is granted, the second's refused."""
    kubelet.plugin("dev-a", "dev-b")
    kubelet.recorder.ask("refuse", "allocate", "1", "no more")
    yield "outcome", kubelet.run(kubelet.pod("vm", ("one", 1), ("two", 1)))
    yield "calls", kubelet.recorder.calls()
    yield "checkpoint", kubelet.remembered()
    yield "List", kubelet.listed()
    kubelet.recorder.ask("refuse")
    yield "the next", kubelet.run(kubelet.pod("next", ("compute", 2)))
    yield "checkpoint after", kubelet.remembered()


def too_few(kubelet: Kubelet):
    kubelet.plugin("dev-a")
    yield "two of one", kubelet.run(kubelet.pod("two-of-one", ("compute", 2)))
    kubelet.show("!dev-a")
    yield "none is healthy", kubelet.run(kubelet.pod("none-healthy", ("compute", 1)))
    yield "calls", kubelet.recorder.calls()
    yield "List", kubelet.listed()


def stream_ends(kubelet: Kubelet):
    kubelet.plugin("dev-a", "dev-b")
    yield "outcome", kubelet.run(kubelet.pod("vm", ("compute", 1)))
    kubelet.recorder.ask("end-streams")
    wait_for("nothing can be allocated", lambda: kubelet.allocatable() == [], seconds=20)
    yield "registered", len(kubelet.registered())
    yield "counted", wait_for("the node counts none", lambda: kubelet.counted() if kubelet.counted()[1] == 0 else None, seconds=40)
    yield "List", kubelet.listed()
    yield "a pod", kubelet.run(kubelet.pod("late", ("compute", 1)))
    kubelet.plugin("dev-a", "dev-b")
    yield "a pod after the return", kubelet.run(kubelet.pod("later", ("compute", 1)))
    yield "calls", kubelet.recorder.calls()
    yield "List after the return", kubelet.listed()


def pre_start_refused(kubelet: Kubelet):
    kubelet.plugin("dev-a", options="prestart")
    kubelet.recorder.ask("refuse", "prestart", "0", "0000:01:00.0: other hardware")
    yield "outcome", kubelet.run(kubelet.pod("vm", ("compute", 1)))
    yield "List", kubelet.listed()
    yield "checkpoint", kubelet.remembered()
    yield "calls", kubelet.recorder.calls()[:4]


def container_restarts(kubelet: Kubelet):
    kubelet.plugin("dev-a", options="prestart")
    pod = kubelet.pod("vm", ("compute", 1), command=f"{BY_ITSELF}; exit 1", restartPolicy="Always")
    yield "outcome", kubelet.run(pod)
    kubelet.wait_restarted("vm")
    yield "calls", kubelet.recorder.calls()[:5]
    yield "checkpoint", kubelet.remembered()


def ended(kubelet: Kubelet):
    kubelet.plugin("dev-a")
    yield "outcome", kubelet.run_to_end(kubelet.pod("vm", ("compute", 1), command=BY_ITSELF))
    yield "List", kubelet.listed()
    kubelet.show("dev-a", "dev-b")
    yield "checkpoint after a frame", kubelet.remembered()
    yield "a pod without devices", kubelet.run(kubelet.pod("plain", ("compute", 0)))
    yield "List of the two", kubelet.listed()
    kubelet.show("dev-a")
    yield "checkpoint after a pod, List and a frame", kubelet.remembered()


def deleted_by_force(kubelet: Kubelet):
    kubelet.plugin("dev-a")
    yield "outcome", kubelet.run(kubelet.pod("vm", ("compute", 1), command="trap '' TERM; sleep 15", terminationGracePeriodSeconds=10))
    kubelet.delete("vm", force=True)
    yield "List", kubelet.listed()
    yield "the next", kubelet.run(kubelet.pod("next", ("compute", 1)))
    yield "calls", kubelet.recorder.calls()
    yield "checkpoint", kubelet.remembered()
    yield "List after", kubelet.listed()


def kubelet_restarts(kubelet: Kubelet):
    kubelet.plugin("dev-a", "dev-b", options="prestart")
    yield "outcome", kubelet.run(kubelet.pod("vm", ("compute", 1)))
    plugin = kubelet.directory / "device-plugins/recorder.sock"
    kubelet.restart()
    wait_for("List names the pod", lambda: kubelet.listed(), seconds=30)
    yield "the plugin's socket is there", plugin.exists()
    yield "List without the plugin", kubelet.listed()
    yield "allocatable without the plugin", kubelet.allocatable()
    yield "a pod without the plugin", kubelet.run(kubelet.pod("early", ("compute", 1)))
    kubelet.plugin("dev-a", "dev-b", options="prestart")
    yield "checkpoint", kubelet.remembered()
    yield "a pod with the plugin", kubelet.run(kubelet.pod("other", ("compute", 1)))
    yield "calls", kubelet.recorder.calls()
    yield "List", kubelet.listed()


def kubelet_restarts_without_checkpoint(kubelet: Kubelet):
    kubelet.plugin("dev-a")
    yield "outcome", kubelet.run(kubelet.pod("vm", ("compute", 1)))
    kubelet.restart(lambda: kubelet.checkpoint_file().unlink())
    wait_for("List names the pod", lambda: kubelet.listed(), seconds=30)
    yield "List without the plugin", kubelet.listed()
    yield "checkpoint without the plugin", kubelet.remembered()
    kubelet.plugin("dev-a")
    yield "List", kubelet.listed()
    yield "checkpoint", kubelet.remembered()
    yield "the next", kubelet.run(kubelet.pod("next", ("compute", 1)))
    yield "calls", kubelet.recorder.calls()
    yield "List after", kubelet.listed()
    yield "checkpoint after", kubelet.remembered()


def sick_in_use(kubelet: Kubelet):
    kubelet.plugin("dev-a", "dev-b")
    yield "outcome", kubelet.run(kubelet.pod("vm", ("compute", 2)))
    kubelet.show("!dev-a", "dev-b")

    def told():
        health = kubelet.health("vm")
        return health if "Unhealthy" in str(health) else None

    found = wait_for("the pod's status says so", told, seconds=30)
    yield "health", [[one["name"], sorted((each["resourceID"], each["health"]) for each in one["resources"])] for one in found]
    yield "List", kubelet.listed()
    yield "allocatable", kubelet.allocatable()
    kubelet.show("dev-b")
    yield "List when it has left the frame", kubelet.listed()
    yield "checkpoint", kubelet.remembered()


def announced(kubelet: Kubelet):
    """By a registration socket in plugins_registry."""
    ask = kubelet.recorder.ask
    ask("listen")
    ask("announce")
    yield "told", wait_for("the plugin is told", lambda: ask("notices"), seconds=30)
    kubelet.show("dev-a")
    yield "allocatable", kubelet.allocatable()
    yield "outcome", kubelet.run(kubelet.pod("vm", ("compute", 1)))
    ask("withdraw")
    wait_for("nothing can be allocated", lambda: kubelet.allocatable() == [], seconds=30)
    yield "List", kubelet.listed()
    yield "calls", kubelet.recorder.calls()
