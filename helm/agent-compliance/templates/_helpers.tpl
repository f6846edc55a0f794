{{/*
Fills in the values that are missing. `helm upgrade --reuse-values` gives this chart the defaults of the one before it, and
none of what came later. Whatever is there stays, and a limit that was taken away by null stays away.
*/}}
{{- define "ac.withDefaults" -}}
{{- include "ac.fillIn" (list .Values (.Files.Get "files/defaults.yaml" | fromYaml)) -}}
{{- end -}}

{{- define "ac.fillIn" -}}
{{- $values := index . 0 -}}
{{- range $key, $default := index . 1 -}}
{{- if not (hasKey $values $key) -}}
{{- $_ := set $values $key $default -}}
{{- else if and (ne $key "resources") (kindIs "map" $default) (kindIs "map" (get $values $key)) -}}
{{- include "ac.fillIn" (list (get $values $key) $default) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Name of everything: the release's name, with the chart's where the release is called otherwise. 48 characters leave room for the suffixes. */}}
{{- define "ac.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels of every object; called with (list $ "part"), the part empty for what belongs to none. */}}
{{- define "ac.labels" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
{{ include "ac.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/part-of: agent-compliance
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- with $root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "ac.selector" -}}
{{- $root := index . 0 -}}
{{- $part := index . 1 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- if $part }}
app.kubernetes.io/component: {{ $part }}
{{- end }}
{{- end -}}

{{/* Image name without tag; called with (list $ .Values.<part>.image). */}}
{{- define "ac.repository" -}}
{{- $registry := (index . 0).Values.image.registry | trimSuffix "/" -}}
{{- if $registry }}{{ $registry }}/{{ end -}}
{{- (index . 1).repository -}}
{{- end -}}

{{/* Image reference; called the same way. */}}
{{- define "ac.image" -}}
{{- $image := index . 1 -}}
{{- include "ac.repository" . -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}{{ end -}}
{{- end -}}

{{/* Namespaces without injection, as a JSON list. */}}
{{- define "ac.excludedNamespaces" -}}
{{- concat (list "kube-system" .Release.Namespace) .Values.webhook.excludedNamespaces | uniq | toJson -}}
{{- end -}}

{{/* Not empty: the installation has an admin key. */}}
{{- define "ac.hasAdminKey" -}}
{{- if or .Values.adminKey.value .Values.adminKey.generate .Values.adminKey.existingSecret }}true{{ end -}}
{{- end -}}

{{/* Where the admin key comes from, in words that change with the key and tell nothing of it. */}}
{{- define "ac.adminKeySource" -}}
{{- if .Values.adminKey.value -}}
the values of revision {{ .Release.Revision }}
{{- else if include "ac.hasAdminKey" . -}}
Secret {{ include "ac.adminSecret" . }}, {{ .Values.adminKey.secretKey }}
{{- else -}}
none
{{- end -}}
{{- end -}}

{{- define "ac.adminSecret" -}}
{{- .Values.adminKey.existingSecret | default (printf "%s-admin" (include "ac.fullname" .)) -}}
{{- end -}}

{{/*
A heap of half the memory limit; the rest is Node's own. None where there is no limit. The part of it for new objects is
kept small: it grows to more than the rest by itself, and V8 then collects the whole heap again and again.
*/}}
{{- define "ac.nodeOptions" -}}
{{- with (.resources.limits | default dict).memory -}}
--max-old-space-size={{ divf (include "ac.number" . | float64) 2097152.0 | floor | int }} --max-semi-space-size=8
{{- end -}}
{{- end -}}

{{/* Environment that every process reads. */}}
{{- define "ac.commonEnv" -}}
- name: LOG_LEVEL
  value: {{ .logLevel }}
- name: LOG_FORMAT
  value: json
{{- with include "ac.nodeOptions" . }}
- name: NODE_OPTIONS
  value: {{ . }}
{{- end }}
{{- end -}}

{{/* The restricted Pod Security profile, and a root file system that nobody writes to. */}}
{{- define "ac.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "ac.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Where a pod may run; called with (list $ .Values.<part> "part"). */}}
{{- define "ac.scheduling" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{- $part := index . 2 -}}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
# The process talks to the API server; other pods of the same ServiceAccount get no token.
automountServiceAccountToken: true
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $values.affinity }}
affinity: {{- toYaml $values.affinity | nindent 2 }}
{{- else if gt (int $values.replicas) 1 }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- include "ac.selector" (list $root $part) | nindent 14 }}
{{- end }}
{{- if $values.topologySpreadConstraints }}
topologySpreadConstraints: {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else if gt (int $values.replicas) 1 }}
topologySpreadConstraints:
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "ac.selector" (list $root $part) | nindent 8 }}
    # The pods of one version among themselves, so that those of before do not count in an upgrade.
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- end -}}

{{/* Labels of the pods of a part; called with (list $ .Values.<part> "part"). */}}
{{- define "ac.podLabels" -}}
{{ include "ac.labels" (list (index . 0) (index . 2)) }}
{{- with (index . 1).podLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* An old pod stays until a new one is ready. */}}
{{- define "ac.strategy" -}}
type: RollingUpdate
rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
{{- end -}}

{{/* How many pods of a part a drain of nodes may take at a time; called with (list $ .Values.<part> "part"). */}}
{{- define "ac.disruptionBudget" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{- $part := index . 2 -}}
{{- if and $values.podDisruptionBudget.enabled (gt (int $values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "ac.fullname" $root }}-{{ $part }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "ac.labels" (list $root $part) | nindent 4 }}
spec:
  {{- if kindIs "invalid" $values.podDisruptionBudget.minAvailable }}
  maxUnavailable: 1
  {{- else }}
  minAvailable: {{ $values.podDisruptionBudget.minAvailable }}
  {{- end }}
  # A pod that is not ready serves nobody, and must not hold a drain up.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "ac.selector" (list $root $part) | nindent 6 }}
{{- end }}
{{- end -}}

{{/* What is injected: the webhook injects by it, and the operator's canary expects it. */}}
{{- define "ac.injectionEnv" -}}
- name: CONTROL_PLANE_SERVICE
  value: {{ include "ac.fullname" . }}-control-plane
- name: CONTROL_PLANE_PORT
  value: {{ .Values.controlPlane.service.port | quote }}
- name: SIDECAR_IMAGE
  value: {{ include "ac.image" (list . .Values.sidecar.image) }}
- name: SIDECAR_IMAGE_PULL_POLICY
  value: {{ .Values.image.pullPolicy }}
- name: SIDECAR_ALLOWED_IMAGES
  value: {{ join "," .Values.sidecar.allowedImages | quote }}
- name: SIDECAR_CPU_REQUEST
  value: {{ .Values.sidecar.resources.requests.cpu | quote }}
- name: SIDECAR_CPU_LIMIT
  value: {{ .Values.sidecar.resources.limits.cpu | quote }}
- name: SIDECAR_MEMORY_REQUEST
  value: {{ .Values.sidecar.resources.requests.memory | quote }}
- name: SIDECAR_MEMORY_LIMIT
  value: {{ .Values.sidecar.resources.limits.memory | quote }}
- name: SIDECAR_LOG_LEVEL
  value: {{ .Values.sidecar.logLevel }}
- name: HEARTBEAT_SECONDS
  value: {{ .Values.sidecar.heartbeatSeconds | quote }}
- name: PROOF_WRITES
  value: {{ if include "ac.hasAdminKey" . }}control-plane{{ else }}local{{ end }}
- name: POLICY_ENGINE
  value: {{ .Values.policy.engine | quote }}
{{- if eq .Values.policy.engine "opa" }}
{{- with .Values.policy.opa }}
- name: OPA_IMAGE
  value: {{ .image | quote }}
- name: OPA_CPU_REQUEST
  value: {{ .resources.requests.cpu | quote }}
- name: OPA_CPU_LIMIT
  value: {{ .resources.limits.cpu | quote }}
- name: OPA_MEMORY_REQUEST
  value: {{ .resources.requests.memory | quote }}
- name: OPA_MEMORY_LIMIT
  value: {{ .resources.limits.memory | quote }}
{{- end }}
{{- end }}
- name: POLICY_MODE
  value: {{ .Values.policy.mode | quote }}
- name: POLICY_MINIMUM_MODE
  value: {{ .Values.policy.minimumMode | quote }}
- name: POLICY_MINIMUM_COMPLIANT_GRADE
  value: {{ .Values.policy.minimumCompliantGrade }}
- name: POLICY_MINIMUM_COMPLIANT_EVIDENCE
  value: {{ int .Values.policy.minimumCompliantEvidence | quote }}
{{- end -}}

{{/* CEL: whether e.name is one of these names; a * at the end of one stands for the rest. */}}
{{- define "ac.guardNames" -}}
{{- $literal := list -}}
{{- $checks := list -}}
{{- range . -}}
{{- if hasSuffix "*" . }}{{ $checks = append $checks (printf "e.name.startsWith('%s')" (trimSuffix "*" .)) }}{{ else }}{{ $literal = append $literal . }}{{ end -}}
{{- end -}}
{{- append $checks (printf "e.name in %s" ($literal | toJson | replace "\"" "'")) | join " || " -}}
{{- end -}}

{{/* A value as a CEL literal. The values of a literal must be of one type in the API server's CEL, and dyn() is one. */}}
{{- define "ac.cel" -}}
{{- if kindIs "map" . -}}
{ {{- range $key, $value := . }}{{ $key | toJson }}: dyn({{ include "ac.cel" $value }}), {{ end -}} }
{{- else if kindIs "slice" . -}}
[ {{- range . }}dyn({{ include "ac.cel" . }}), {{ end -}} ]
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end -}}
