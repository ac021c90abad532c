{{/*
Named templates for the chart's other files. Files whose names begin with an
underscore make no objects. Kubernetes allows 63 characters in most names and
label values, hence the trunc.
*/}}

{{/* The short name: the chart's, or nameOverride. */}}
{{- define "<CHARTNAME>.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
The name of the objects: fullnameOverride, or the release's name with the short
name behind it, unless the release's name has that in it already.
*/}}
{{- define "<CHARTNAME>.fullname" -}}
{{- $name := .Values.nameOverride | default .Chart.Name -}}
{{- $full := printf "%s-%s" .Release.Name $name -}}
{{- if contains $name .Release.Name -}}
{{- $full = .Release.Name -}}
{{- end -}}
{{- .Values.fullnameOverride | default $full | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Chart and version in one label value, where "+" is not allowed. */}}
{{- define "<CHARTNAME>.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels of every object. */}}
{{- define "<CHARTNAME>.labels" -}}
helm.sh/chart: {{ include "<CHARTNAME>.chart" . }}
{{ include "<CHARTNAME>.selectorLabels" . }}
{{- with .Chart.AppVersion }}
app.kubernetes.io/version: {{ . | quote }}
{{- end }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The labels that find the pods. They must never change between versions. */}}
{{- define "<CHARTNAME>.selectorLabels" -}}
app.kubernetes.io/name: {{ include "<CHARTNAME>.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* The service account: the chart's own, or one that exists. */}}
{{- define "<CHARTNAME>.serviceAccountName" -}}
{{- $fallback := "default" -}}
{{- if .Values.serviceAccount.create -}}
{{- $fallback = include "<CHARTNAME>.fullname" . -}}
{{- end -}}
{{- .Values.serviceAccount.name | default $fallback -}}
{{- end -}}
