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
