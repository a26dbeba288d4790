{{- define "fairlead.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- if ne .Release.Name .Chart.Name }}-{{ .Chart.Name }}{{ end -}}
{{- end }}

{{- define "fairlead.selector" -}}
app.kubernetes.io/name: fairlead
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "fairlead.labels" -}}
{{ include "fairlead.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: fairlead
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Of the Job before an uninstall: no Service and no budget may select it as an operator. */}}
{{- define "fairlead.letGo.labels" -}}
app.kubernetes.io/name: fairlead
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: let-go
app.kubernetes.io/part-of: fairlead
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "fairlead.letGo.rights" -}}
helm.sh/hook: pre-delete
helm.sh/hook-weight: "-5"
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- define "fairlead.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end }}

{{/* Where the API listens. */}}
{{- define "fairlead.api" -}}
{{- if eq .Values.api.mode "exposed" }}0.0.0.0:8081{{ else if eq .Values.api.mode "loopback" }}127.0.0.1:8081{{ else }}off{{ end -}}
{{- end }}

{{- define "fairlead.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "fairlead.name" .) -}}
{{- end }}

{{/* What the operator does with Pipelines, LiveSources and what it makes for them, in one namespace or in all. */}}
{{- define "fairlead.rules" -}}
- apiGroups: [fairlead.dev]
  resources: [pipelines, livesources]
  verbs: [get, list, watch, patch]
- apiGroups: [fairlead.dev]
  resources: [pipelines/status, livesources/status]
  verbs: [patch]
- apiGroups: [fairlead.dev]
  resources: [pipelines/finalizers, livesources/finalizers]
  verbs: [update]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete]
# Where senders reach push sources.
- apiGroups: [""]
  resources: [services]
  verbs: [create, patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- end }}
