{{/*
Fills in missing values. `helm upgrade --reuse-values` passes only the defaults of the previous chart version, without values
added since. Existing values are kept, and a limit that was removed with null stays removed.
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

{{/* Base name of all objects: the release name, plus the chart name unless included. 48 characters leave room for suffixes. */}}
{{- define "ac.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 48 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 48 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Labels of every object; called with (list $ "part"). The part is empty for objects without a part. */}}
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

{{/* Image reference; called with the same arguments. */}}
{{- define "ac.image" -}}
{{- $image := index . 1 -}}
{{- include "ac.repository" . -}}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}{{ end -}}
{{- end -}}

{{/* Namespaces without injection, as a JSON list. */}}
{{- define "ac.excludedNamespaces" -}}
{{- concat (list "kube-system" .Release.Namespace) .Values.webhook.excludedNamespaces | uniq | toJson -}}
{{- end -}}

{{/* Non-empty if the installation has an admin key. */}}
{{- define "ac.hasAdminKey" -}}
{{- if or .Values.adminKey.value .Values.adminKey.generate .Values.adminKey.existingSecret }}true{{ end -}}
{{- end -}}

{{/* The source of the admin key, as a text that changes with the key but does not reveal it. */}}
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
A heap of half the memory limit; the other half is for Node itself. No option without a limit. The space for new objects is
kept small. Otherwise it grows larger than the rest of the heap, and V8 repeatedly collects the whole heap.
*/}}
{{- define "ac.nodeOptions" -}}
{{- with (.resources.limits | default dict).memory -}}
--max-old-space-size={{ divf (include "ac.number" . | float64) 2097152.0 | floor | int }} --max-semi-space-size=8
{{- end -}}
{{- end -}}

{{/* Environment variables of every process. */}}
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

{{/*
Users of a pod, under the restricted Pod Security profile; called with (list $ "part"). The containers also have a read-only root
file system. Each part has a user of its own, none of which another program of a node is expected to have: a process can read the
memory, the environment and the files of other processes of its user. 65520 to 65533 are free on Linux; 65532 is the sidecar.
*/}}
{{- define "ac.podUsers" -}}
{{- $user := get (dict "operator" 65521 "webhook" 65522 "control-plane" 65523 "test" 65524) (index . 1) -}}
{{- if include "ac.hasUserNamespaces" (index . 0) -}}
hostUsers: false
{{ end -}}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ $user }}
  runAsGroup: {{ $user }}
  fsGroup: {{ $user }}
  seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{/*
Non-empty if the pods get user namespaces. With auto, every node must support them: a pod without would not start on such a node.
Volumes of a user namespace need Linux 6.3. The result replaces the value, so that the nodes are listed once.
*/}}
{{- define "ac.hasUserNamespaces" -}}
{{- if eq (toString .Values.userNamespaces) "auto" -}}
{{- $nodes := 0 -}}
{{- $able := 0 -}}
{{- range (lookup "v1" "Node" "" "").items -}}
{{- $info := .status.nodeInfo -}}
{{- if ne $info.operatingSystem "windows" -}}
{{- $nodes = add $nodes 1 -}}
{{- range .status.runtimeHandlers -}}
{{- if and (not .name) (dig "features" "userNamespaces" false .) (semverCompare ">=6.3" (regexFind "^[0-9]+[.][0-9]+" $info.kernelVersion | default "0.0")) }}{{ $able = add $able 1 }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $_ := set .Values "userNamespaces" (and (gt $nodes 0) (eq $able $nodes)) -}}
{{- end -}}
{{- if .Values.userNamespaces }}true{{ end -}}
{{- end -}}

{{/* The members of a Secret volume that only the part's group can read: 288 is 0440. */}}
{{- define "ac.secretMode" -}}
defaultMode: 288
{{- end -}}

{{- define "ac.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Scheduling of a pod; called with (list $ .Values.<part> "part"). */}}
{{- define "ac.scheduling" -}}
{{- $root := index . 0 -}}
{{- $values := index . 1 -}}
{{- $part := index . 2 -}}
terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
# The process calls the API server; other pods of the same ServiceAccount get no token.
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
    # Spreads the pods of one version; pods of the previous version do not count during an upgrade.
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

{{/* Keeps an old pod until a new pod is ready. */}}
{{- define "ac.strategy" -}}
type: RollingUpdate
rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
{{- end -}}

{{/* The number of pods of a part that a node drain may evict at a time; called with (list $ .Values.<part> "part"). */}}
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
  # A pod that is not ready serves no requests and must not block a drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: {{- include "ac.selector" (list $root $part) | nindent 6 }}
{{- end }}
{{- end -}}

{{/* Settings of the injection, for the webhook and for the operator's canary, which expects the same result. */}}
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
{{- range (.Files.Get "files/annotations.yaml" | fromYaml).variables }}
{{- $value := $.Values }}
{{- range .path }}{{ $value = index $value . }}{{ end }}
{{- /* toJson prints a large number without an exponent. */}}
- name: {{ .variable }}
  value: {{ kindIs "float64" $value | ternary (toJson $value) $value | quote }}
{{- end }}
- name: HEARTBEAT_SECONDS
  value: {{ .Values.sidecar.heartbeatSeconds | quote }}
- name: ORGANISATION_ON_UNKNOWN
  value: {{ .Values.organisation.onUnknown }}
- name: PROOF_WRITES
  value: {{ if include "ac.hasAdminKey" . }}control-plane{{ else }}local{{ end }}
{{- with .Values.llmAnalysis }}
{{- if .existingSecret }}
- name: LLM_ANALYSIS_SECRET
  value: {{ .existingSecret | quote }}
- name: LLM_ANALYSIS_SECRET_KEY
  value: {{ .secretKey | quote }}
- name: LLM_ANALYSIS_PROVIDER
  value: {{ .provider | quote }}
- name: LLM_ANALYSIS_MODEL
  value: {{ .model | quote }}
- name: LLM_ANALYSIS_BASE_URL
  value: {{ .baseUrl | quote }}
- name: LLM_ANALYSIS_TIMEOUT_SECONDS
  value: {{ toJson .timeoutSeconds | quote }}
- name: LLM_ANALYSIS_TOKENS_PER_DAY
  value: {{ toJson .tokensPerDay | quote }}
- name: LLM_ANALYSIS_USD_PER_DAY
  value: {{ include "ac.amount" .usdPerDay | quote }}
- name: LLM_ANALYSIS_USD_PER_MILLION_INPUT_TOKENS
  value: {{ include "ac.amount" .usdPerMillionTokens.input | quote }}
- name: LLM_ANALYSIS_USD_PER_MILLION_OUTPUT_TOKENS
  value: {{ include "ac.amount" .usdPerMillionTokens.output | quote }}
{{- end }}
{{- end }}
{{- with .Values.sidecar.otlp.collector }}
- name: SIDECAR_OTLP_COLLECTOR
  value: {{ . | quote }}
{{- end }}
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
- name: POLICY_MINIMUM_MODE
  value: {{ .Values.policy.minimumMode | quote }}
- name: POLICY_MINIMUM_COMPLIANT_GRADE
  value: {{ .Values.policy.minimumCompliantGrade }}
- name: POLICY_MINIMUM_COMPLIANT_EVIDENCE
  value: {{ int .Values.policy.minimumCompliantEvidence | quote }}
{{- end -}}

{{/* An amount as text: --set passes a number with a decimal point as a string. */}}
{{- define "ac.amount" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end -}}
{{- end -}}

{{/* CEL: whether e.name is one of these names; a * at the end matches the rest of a name. */}}
{{- define "ac.guardNames" -}}
{{- $literal := list -}}
{{- $checks := list -}}
{{- range . -}}
{{- if hasSuffix "*" . }}{{ $checks = append $checks (printf "e.name.startsWith('%s')" (trimSuffix "*" .)) }}{{ else }}{{ $literal = append $literal . }}{{ end -}}
{{- end -}}
{{- append $checks (printf "e.name in %s" ($literal | toJson | replace "\"" "'")) | join " || " -}}
{{- end -}}

{{/* A value as a CEL literal. The API server's CEL requires one type for all values of a literal; dyn() provides it. */}}
{{- define "ac.cel" -}}
{{- if kindIs "map" . -}}
{ {{- range $key, $value := . }}{{ $key | toJson }}: dyn({{ include "ac.cel" $value }}), {{ end -}} }
{{- else if kindIs "slice" . -}}
[ {{- range . }}dyn({{ include "ac.cel" . }}), {{ end -}} ]
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end -}}
