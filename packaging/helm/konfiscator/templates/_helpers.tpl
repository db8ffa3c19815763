{{- /* SPDX-License-Identifier: LGPL-2.1-or-later */ -}}
{{- define "konfiscator.selector" -}}
app.kubernetes.io/name: konfiscator-exporter
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "konfiscator.labels" -}}
{{ include "konfiscator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "konfiscator.image" -}}
image: {{ printf "%s:%s" .Values.image.repository .Values.image.tag | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "konfiscator.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default .Values.fullname }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "konfiscator.injector" -}}
app.kubernetes.io/name: konfiscator-injector
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
