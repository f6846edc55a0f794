{{/* The alerts. docs/guide/alerts.md has a section for each; a test compares both. The {{ }} of Prometheus are quoted. */}}
{{- define "ac.alerts" -}}
{{- $name := include "ac.fullname" . -}}
{{- $namespace := .Release.Namespace -}}
{{- $operator := printf "namespace=%q,job=%q" $namespace (printf "%s-operator" $name) -}}
{{- $webhook := printf "namespace=%q,job=%q" $namespace (printf "%s-webhook" $name) -}}
{{- $controlPlane := printf "namespace=%q,job=%q" $namespace (printf "%s-control-plane" $name) -}}
{{- $alerts := list
  (dict "alert" "AgentComplianceInjectorDown" "for" "2m" "severity" "critical"
    "expr" (printf "absent(up{%s} == 1)" $webhook)
    "summary" "No injector is up: new agent pods cannot be injected.")
  (dict "alert" "AgentComplianceInjectorErrors" "for" "5m" "severity" "warning"
    "expr" (printf "sum(rate(controller_runtime_webhook_requests_total{%s,code=~\"5..\"}[5m])) > 0" $webhook)
    "summary" "The injector responds to the API server with errors.")
  (dict "alert" "AgentComplianceInjectorNotTrusted" "for" "5m" "severity" "warning"
    "expr" (printf "sum(rate(platform_webhook_tls_errors_total{%s}[5m])) > 0.05" $webhook)
    "summary" "TLS handshakes with the injector fail: a client does not trust its certificate.")
  (dict "alert" "AgentComplianceInjectorRefuses" "for" "5m" "severity" "warning"
    "expr" (printf "sum by (code) (increase(platform_webhook_decisions_total{%s,action=\"refuse\"}[15m])) > 0" $webhook)
    "summary" "Pods that opt in are rejected: {{ $labels.code }}.")
  (dict "alert" "AgentComplianceCertificateExpires" "for" "10m" "severity" "critical"
    "expr" (printf "min(platform_webhook_certificate_expiry_seconds{%s}) - time() < 14 * 86400" $webhook)
    "summary" "The injector's certificate expires in less than 14 days; it should have been renewed 30 days before expiry.")
  (dict "alert" "AgentComplianceOperatorDown" "for" "5m" "severity" "critical"
    "expr" (printf "absent(up{%s} == 1)" $operator)
    "summary" "No operator is up: AgentObservations are not updated.")
  (dict "alert" "AgentComplianceNoLeader" "for" "2m" "severity" "critical"
    "expr" (printf "sum(leader_election_master_status{%s}) == 0" $operator)
    "summary" "No replica of the operator is the leader.")
  (dict "alert" "AgentComplianceReconcileErrors" "for" "15m" "severity" "warning"
    "expr" (printf "sum by (controller) (rate(controller_runtime_reconcile_errors_total{%s}[5m])) > 0" $operator)
    "summary" "The operator's controller {{ $labels.controller }} fails repeatedly.")
  (dict "alert" "AgentComplianceQueueGrows" "for" "10m" "severity" "warning"
    "expr" (printf "sum by (name) (workqueue_depth{%s}) > 100" $operator)
    "summary" "The operator's queue {{ $labels.name }} has more than 100 keys.")
  (dict "alert" "AgentComplianceMirrorFails" "for" "5m" "severity" "warning"
    "expr" (printf "min(platform_operator_mirror_up{%[1]s} and on (instance) (leader_election_master_status{%[1]s} == 1)) == 0" $operator)
    "summary" "The control plane outside the cluster cannot be read: its mirrored agents are not updated.")
  (dict "alert" "AgentComplianceControlPlaneDown" "for" "5m" "severity" "critical"
    "expr" (printf "absent(up{%s} == 1)" $controlPlane)
    "summary" "No control plane is up: no agent status is updated.")
  (dict "alert" "AgentComplianceControlPlaneErrors" "for" "10m" "severity" "warning"
    "expr" (printf "sum(rate(platform_control_plane_requests_total{%[1]s,status=~\"5..\"}[5m])) / sum(rate(platform_control_plane_requests_total{%[1]s}[5m])) > 0.05" $controlPlane)
    "summary" "More than 5 % of the control plane's responses are server errors.")
  (dict "alert" "AgentComplianceAgentsStale" "for" "5m" "severity" "warning"
    "expr" (printf "max(platform_operator_agents{%s,phase=\"Unknown\"}) > 0" $operator)
    "summary" "{{ $value }} agents have stopped reporting.")
  (dict "alert" "AgentComplianceAgentsUnhealthy" "for" "10m" "severity" "warning"
    "expr" (printf "max(platform_operator_agents{%s,phase=\"Unhealthy\"}) > 0" $operator)
    "summary" "{{ $value }} agents are unhealthy.")
-}}
{{- if .Values.canary.enabled }}
{{- $alerts = append $alerts (dict "alert" "AgentComplianceCanaryFails" "for" "10m" "severity" "critical"
    "expr" (printf "min(platform_operator_canary_passing{%[1]s} and on (instance) (leader_election_master_status{%[1]s} == 1)) == 0" $operator)
    "summary" "The canary's dry-run pod differs from the expected injected pod.") }}
{{- end }}
{{- range $alerts }}
- alert: {{ .alert }}
  expr: {{ .expr | quote }}
  for: {{ .for }}
  labels: { severity: {{ .severity }} }
  annotations:
    summary: {{ .summary | quote }}
    runbook_url: {{ printf "%s#%s" $.Values.monitoring.prometheusRule.runbookUrl (lower .alert) | quote }}
{{- end }}
{{- end -}}
