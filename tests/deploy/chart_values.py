"""Values of the chart: what it refuses and says of them, and what it makes like an overlay or a component."""

SELECT = "nodeClasses: [{{name: a, nodeSelector: {{}}, config: {{resources: [{{select: {0}}}]}}}}]"
OFFER = "nodeClasses: [{{name: a, nodeSelector: {{}}, config: {{resources: [{{select: {{class: '03'}}, {0}}}]}}}}]"
CONFIG = "nodeClasses: [{{name: a, nodeSelector: {{}}, config: {{{0}}}}}]"
ID = "value must be 'text: quote it"

# values, and what the refusal says
REFUSED = [
    (SELECT.format("{vendor: 1e07}"), ID),
    (SELECT.format("{device: 0010}"), ID),
    (SELECT.format("{device: ['2236', 1e30]}"), ID),
    (SELECT.format("{device: 2235}"), ID),
    (SELECT.format("{subvendor: 1e07}"), ID),
    (SELECT.format("{class: 03}"), ID),
    (SELECT.format("{vendor: '10DE'}"), "does not match pattern"),
    (SELECT.format("{vendor: '0x10de'}"), "does not match pattern"),
    (SELECT.format("{vendor: []}"), "minItems"),
    (SELECT.format("{}"), "minProperties"),
    (SELECT.format("{vender: '10de'}"), "additional properties 'vender' not allowed"),
    (SELECT.format("{slot: 7}"), ID),
    (SELECT.format("{slot: 'a/b'}"), "does not match pattern"),
    (SELECT.format("{rootPort: '3a:00.0'}"), "does not match pattern"),
    (SELECT.format("{serial: 1324121001234}"), ID),
    (SELECT.format("{serial: ' A1'}"), "does not match pattern"),
    (OFFER.format("bind: always"), "value must be one of 'never', 'on-allocate'"),
    (OFFER.format("serve: claims"), "value must be one of 'plugin', 'dra', 'both'"),
    (OFFER.format("serve: dra"), "nodeClasses a: resources[0] is served through DRA: set dra.enabled"),
    (OFFER.format("serve: both"), "nodeClasses a: resources[0] is served through DRA: set dra.enabled"),
    ("dra: {enabled: true}", "dra.enabled: what a claim was given is handed over by a CDI spec: set cdi.enabled"),
    ("dra: {driver: VFIO.vfiogate.dev}", "does not match pattern"),
    ("dra: {driver: 10de.vfiogate.dev}", "does not match pattern"),
    ("dra: {driver: a.%s}" % (62 * "b"), "maxLength"),
    ("dra: {driver: ''}", "does not match pattern"),
    ("dra: {token: x}", "additional properties 'token' not allowed"),
    ("networkPolicy: {apiServer: {ports: []}}", "minItems"),
    (OFFER.format("env: [multus]"), "value must be one of 'kubevirt', 'sriov', 'none'"),
    (OFFER.format("names: x"), "additional properties 'names' not allowed"),
    (OFFER.format("inject: cdi"), "nodeClasses a: resources[0] needs CDI specs: set cdi.enabled"),
    (OFFER.format("bind: on-allocate"), "nodeClasses a: resources[0] has its devices bound: set binding.enabled"),
    ("privd: {hardwareUid: 0}", "minimum"),
    ("privd: {hardwareUid: 64532}", "privd.hardwareUid: 64532 is root's, plugind's or netd's"),
    ("privd: {hardwareUid: nobody}", "want integer"),
    ("privd: {sysfsReadOnly: true}", "additional properties 'sysfsReadOnly' not allowed"),
    ("resources: {privd: {}}", "additional properties 'privd' not allowed"),
    ("binding: {allow: [2235]}", "want string"),
    ("binding: {allow: ['vendor=10de; x']}", "does not match pattern"),
    ("binding: {allows: []}", "additional properties 'allows' not allowed"),
    ("binding: {enabled: true, vfs: ['0000:3b:00.0']}", "does not match pattern"),
    ("binding: {enabled: true, vfs: ['0000:3b:00.0=0']}", "does not match pattern"),
    ("binding: {vfs: ['0000:3b:00.0=8']}", "binding.vfs: only privd-binder makes virtual functions: set binding.enabled"),
    (OFFER.format("kata: true"), "nodeClasses a: resources[0] needs CDI specs: set cdi.enabled"),
    (CONFIG.format("dra: {driver: vfio.vfiogate.dev}"), "additional properties 'dra' not allowed"),
    (CONFIG.format("exclude: [{device: 1e07}]"), ID),
    (CONFIG.format("aliases: {1e07: nvidia.com/X}"), "does not match pattern"),
    (CONFIG.format("grace: 60"), "want string"),
    (CONFIG.format("") + "\nnodeclasses: []", "additional properties 'nodeclasses' not allowed"),
    (f"nodeClasses: [{', '.join(2 * ['{name: a, nodeSelector: {}, config: {}}'])}]", 'two are named "a"'),
    ("nodeClasses: []", "minItems"),
    ("privd: {privileged: true}", "additional properties 'privileged' not allowed"),
    ("privd: {appArmor: {profile: Unconfined}}", "value must be one of 'RuntimeDefault', 'Localhost'"),
    ("privd: {appArmor: {names: {gate: ../x}}}", "does not match pattern"),
    ("privd: {appArmorProfile: {type: Localhost}}", "additional properties 'appArmorProfile' not allowed"),
    ("maxUnavailable: 0", "minimum"),
    ("maxUnavailable: '0%'", "does not match pattern"),
    ("image: {tag: 0.10}", ID),
    ("metrics: {monitor: true}", "value must be one of"),
    ("metrics: {rules: true}", "got boolean, want object"),
    ("metrics: {dashboard: {enable: true}}", "additional properties 'enable' not allowed"),
    ("image: {digest: sha256:12}", "does not match pattern"),
    ("modulesImage: {tag: 0.10}", ID),
    ("modulesImage: {pullPolicy: Never}", "additional properties 'pullPolicy' not allowed"),
    ("modules: load", "value must be one of 'host', 'init'"),
    ("seccomp: {profile: Unconfined}", "value must be one of 'RuntimeDefault', 'Localhost'"),
    ("seccomp: {files: {gate: ../gate.json}}", "does not match pattern"),
    ("seccomp: {files: {privd: privd.json}}", "additional properties 'privd' not allowed"),
    ("seccomp: {files: {gate: /gate.json}}", "does not match pattern"),
    ("seccomp: {file: x}", "additional properties 'file' not allowed"),
]

# Where the schema is not asked, the templates still say it.
SAID_BY_TEMPLATES = [
    (SELECT.format("{vendor: 1e07}"), "resources[0].select.vendor: YAML read 1e+07, which is no text; quote it"),
    (SELECT.format("{device: 0010}"), "resources[0].select.device: YAML read 8, which is no text; quote it"),
    (SELECT.format("{device: ['2236', 1e30]}"), "resources[0].select.device: YAML read 1e+30, which is no text; quote it"),
    (CONFIG.format("exclude: [{class: 03}]"), "exclude[0].class: YAML read 3, which is no text; quote it"),
]

# Values that change the pod, and what rules to judge it by.
VARIED = [
    ("cdi: {enabled: true}", {"cdi": True}),
    ("binding: {enabled: true, allow: ['vendor=10de,class=03', '10de:2236'], deny: ['class=0108'], allowStorage: true,"
     " vfs: ['0000:3b:00.0=8', '3b:00.1=1', '8086:1593=64', 'vendor=8086,class=02=2'], allowUnguardedUnbind: true}\ncdi: {enabled: true}", {"binding": True, "cdi": True}),
    ("cdi: {enabled: true}\ndra: {enabled: true}", {"cdi": True, "dra": True}),
    ("cdi: {enabled: true}\ndra: {enabled: true, admissionPolicies: false}\nseccomp: {profile: Localhost}",
     {"cdi": True, "dra": True, "policies": False, "localhost": True}),
    ("cdi: {enabled: true}\ndra: {enabled: true}\nnetworkPolicy: {apiServer: {ports: [443], to: [{ipBlock: {cidr: 10.0.0.1/32}}]}}",
     {"cdi": True, "dra": True}),
    ("privd: {hardwareUid: 70000}", {"hardware": 70000}),
    ("binding: {enabled: true}\nseccomp: {profile: Localhost}", {"binding": True, "localhost": True}),
    ("binding: {enabled: true}\ncdi: {enabled: true}\ndra: {enabled: true}", {"binding": True, "cdi": True, "dra": True}),
    ("privd: {requireLandlock: true}", {}),
    ("privd: {appArmor: {profile: Localhost}}", {}),
    ("metrics: {monitor: pod, monitorLabels: {release: x}, listen: '0.0.0.0', port: 9000}", {}),
    ("metrics: {monitor: service}", {}),
    ("metrics: {rules: {enabled: true, labels: {release: x}, runbooks: 'https://example.com/operations'}}", {}),
    ("metrics: {dashboard: {enabled: true}}", {}),
    ("modules: init", {"modules": True}),
    ("selfTest: false", {"self_test": False}),
    ("selfTest: false\nmodules: init", {"self_test": False, "modules": True}),
    ("seccomp: {profile: Localhost}", {"localhost": True}),
    ("networkPolicy: {from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: x}}}]}", {}),
    ("networkPolicy: {enabled: false}", {}),
    ("tolerations: []", {}),
    ("maxUnavailable: '10%'", {}),
    ("image: {digest: 'sha256:%s'}" % ("0" * 64), {}),
    ("modules: init\nmodulesImage: {digest: 'sha256:%s'}" % ("0" * 64), {"modules": True}),
    ("imagePullSecrets: [{name: x}]", {}),
]

CDI, DRA, BINDING = "cdi: {enabled: true}", "dra: {enabled: true}", "binding: {enabled: true}"
SECCOMP = "seccomp: {profile: Localhost}"
# Components in their order, the values that say the same, and what rules to judge them by.
COMPONENTS = [
    (["cdi"], [CDI], {"cdi": True}),
    (["binding"], [BINDING], {"binding": True}),
    (["modules"], ["modules: init"], {"modules": True}),
    (["seccomp"], [SECCOMP], {"localhost": True}),
    (["cdi", "binding"], [CDI, BINDING], {"cdi": True, "binding": True}),
    (["cdi", "dra"], [CDI, DRA], {"cdi": True, "dra": True}),
    (["cdi", "dra", "binding", "modules"], [CDI, DRA, BINDING, "modules: init"],
     {"cdi": True, "dra": True, "binding": True, "modules": True}),
    (["cdi", "dra", "seccomp", "seccomp-dra"], [CDI, DRA, SECCOMP], {"cdi": True, "dra": True, "localhost": True}),
    (["seccomp", "binding", "seccomp-binding"], [BINDING, SECCOMP], {"binding": True, "localhost": True}),
    (["binding", "cdi", "dra", "seccomp", "seccomp-binding", "seccomp-dra"], [CDI, DRA, BINDING, SECCOMP],
     {"cdi": True, "dra": True, "binding": True, "localhost": True}),
]

# Ids that some reader of YAML takes for numbers or else, when they lose their quotes.
TRICKY = ["1e07", "0010", "1e30", "2235", "0008", "00e0", "1e00", "0e00", "0b01", "0777", "1234"]
