{{/* What the schema cannot say, or what must be said, too, where the schema is skipped. */}}
{{- define "vfiogate.check" -}}
{{- $names := list }}
{{- if has (toString (int64 .Values.privd.hardwareUid)) (list "0" "64532" "64533") }}
{{- fail (printf "privd.hardwareUid: %v is root's, plugind's or netd's: each has a user of its own" .Values.privd.hardwareUid) }}
{{- end }}
{{- if and .Values.dra.enabled (not .Values.cdi.enabled) }}
{{- fail "dra.enabled: what a claim was given is handed over by a CDI spec: set cdi.enabled, and read docs/cdi.md first" }}
{{- end }}
{{- if and .Values.binding.vfs (not .Values.binding.enabled) }}
{{- fail "binding.vfs: only privd-binder makes virtual functions: set binding.enabled, and read docs/bind.md first" }}
{{- end }}
{{- range .Values.nodeClasses }}
{{- if has .name $names }}{{ fail (printf "nodeClasses: two are named %q; rename one" .name) }}{{ end }}
{{- $names = append $names .name }}
{{- $class := .name }}
{{- range $i, $resource := (.config.resources | default list) }}
{{- $where := printf "nodeClasses %s: resources[%d]" $class $i }}
{{- include "vfiogate.checkSelector" (dict "where" (printf "%s.select" $where) "select" ($resource.select | default dict)) }}
{{- if and (or (eq ($resource.inject | default "nodes") "cdi") $resource.kata) (not $.Values.cdi.enabled) }}
{{- fail (printf "%s needs CDI specs: set cdi.enabled, and read docs/cdi.md first" $where) }}
{{- end }}
{{- if and (eq ($resource.bind | default "never") "on-allocate") (not $.Values.binding.enabled) }}
{{- fail (printf "%s has its devices bound: set binding.enabled and binding.allow, and read docs/bind.md first" $where) }}
{{- end }}
{{- if and (ne ($resource.serve | default "plugin") "plugin") (not $.Values.dra.enabled) }}
{{- fail (printf "%s is served through DRA: set dra.enabled, and read docs/dra.md first" $where) }}
{{- end }}
{{- end }}
{{- range $i, $select := (.config.exclude | default list) }}
{{- include "vfiogate.checkSelector" (dict "where" (printf "nodeClasses %s: exclude[%d]" $class $i) "select" $select) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "vfiogate.checkSelector" -}}
{{- $where := .where }}
{{- range $key, $value := .select }}
{{- if ne $key "numa" }}
{{- range (kindIs "slice" $value | ternary $value (list $value)) }}
{{- if not (kindIs "string" .) }}
{{- fail (printf "%s.%s: YAML read %v, which is no text; quote it, as in \"1e07\"" $where $key .) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
