{{- define "vfiogate.name" -}}
{{- if contains "vfiogate" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-vfiogate{{ end }}
{{- end }}

{{- define "vfiogate.labels" -}}
app.kubernetes.io/name: vfiogate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "vfiogate.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}{{ end }}
{{- end }}

{{/* What the names of a configuration's resources begin with: privd serves no others. JSON. */}}
{{- define "vfiogate.prefixes" -}}
{{- $prefixes := list (.resourcePrefix | default "vfiogate.dev") }}
{{- range .resources }}{{ with .name }}{{ $prefixes = append $prefixes (regexFind "^[^/]*" .) }}{{ end }}{{ end }}
{{- range (.aliases | default dict) }}{{ $prefixes = append $prefixes (regexFind "^[^/]*" .) }}{{ end }}
{{- toJson (uniq $prefixes) }}
{{- end }}

{{/* What privd and the commands in its container have to know alike: one option a line, as in /etc/vfiogate/privd.conf. */}}
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
