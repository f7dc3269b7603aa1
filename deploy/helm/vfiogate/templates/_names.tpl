{{- define "vfiogate.name" -}}
{{- if contains "vfiogate" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-vfiogate{{ end }}
{{- end }}

{{- define "vfiogate.labels" -}}
app.kubernetes.io/name: vfiogate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* An image of the values by its digest where there is one, else by its tag. */}}
{{- define "vfiogate.reference" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end }}

{{- define "vfiogate.image" -}}
{{ include "vfiogate.reference" .Values.image }}
{{- end }}

{{/* What the names of a configuration's resources begin with: privd serves no others. JSON. */}}
{{- define "vfiogate.prefixes" -}}
{{- $prefixes := list (.resourcePrefix | default "vfiogate.dev") }}
{{- range .resources }}{{ with .name }}{{ $prefixes = append $prefixes (regexFind "^[^/]*" .) }}{{ end }}{{ end }}
{{- range (.aliases | default dict) }}{{ $prefixes = append $prefixes (regexFind "^[^/]*" .) }}{{ end }}
{{- toJson (uniq $prefixes) }}
{{- end }}

{{/* What each of privd's processes is told beside its own options; empty by default. */}}
{{- define "vfiogate.roleOptions" -}}
{{- $words := list }}
{{- if ne .Values.logFormat "logfmt" }}{{ $words = append $words (printf "--log-format=%s" .Values.logFormat) }}{{ end }}
{{- if .Values.privd.requireLandlock }}{{ $words = append $words "--require-landlock" }}{{ end }}
{{- if $words }}{{ toYaml $words }}{{ end }}
{{- end }}

{{/* The profiles of seccomp and AppArmor around one of privd's processes, where values choose them. */}}
{{- define "vfiogate.roleProfiles" -}}
{{- $values := (index . 0).Values }}{{ $role := index . 1 }}{{ $lines := list }}
{{- if eq $values.seccomp.profile "Localhost" }}
{{- $lines = append $lines (printf "seccompProfile: {type: Localhost, localhostProfile: %s}" (index $values.seccomp.files $role)) }}
{{- end }}
{{- if eq $values.privd.appArmor.profile "Localhost" }}
{{- $lines = append $lines (printf "appArmorProfile: {type: Localhost, localhostProfile: %s}" (index $values.privd.appArmor.names $role)) }}
{{- end }}
{{- join "\n" $lines }}
{{- end }}

{{/* What privd's processes and the commands in their containers have to know alike: one option a line, as in
     /etc/vfiogate/privd.conf. Each takes those that are its own. */}}
{{- define "vfiogate.privdOptions" -}}
sysfs /host/sys
dev /host/dev
{{- with .Values.binding }}{{ if .enabled }}
{{- range .deny }}
deny {{ . }}
{{- end }}
{{- if .allowStorage }}
allow-storage
{{- end }}
{{- if .allowUnguardedUnbind }}
allow-unguarded-unbind
{{- end }}
{{- end }}{{ end }}
{{- end }}
