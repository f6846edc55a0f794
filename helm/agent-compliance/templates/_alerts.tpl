{{/*
Fires after `minutes` bad minutes of the last `window` minutes. `for` would start again whenever a crash loop is briefly up.
A second less than the window, so that it has as many values as minutes.
*/}}
{{- define "ac.badMinutes" -}}
{{- printf "sum_over_time((%s)[%dm59s:1m]) >= %d" .bad (sub .window 1) .minutes -}}
{{- end -}}

{{/* No process is up, or no process was up for at least half of the time. */}}
{{- define "ac.down" -}}
{{- printf "absent(up{%[1]s} == 1) or max(avg_over_time(up{%[1]s}[10m])) < 0.5" . -}}
{{- end -}}

{{/* A value of 0 on the leader, where it is valid. Arguments: metric, selector of the operator. */}}
{{- define "ac.zeroOnLeader" -}}
{{- printf "min(%[1]s{%[2]s} and on (instance) (leader_election_master_status{%[2]s} == 1)) == bool 0" (index . 0) (index . 1) -}}
{{- end -}}

{{/*
The alerts. docs/guide/alerts.md has a section for each; a test compares both. The {{ }} of Prometheus are quoted.
Every alert has the label `namespace`: `agents` have their own in the metric, all others get the namespace of the release.
*/}}
{{- define "ac.alerts" -}}
{{- $name := include "ac.fullname" . -}}
{{- $namespace := .Release.Namespace -}}
{{- $job := printf "job=%q" (printf "%s-operator" $name) -}}
{{- $operator := printf "namespace=%q,%s" $namespace $job -}}
{{- $webhookJob := printf "job=%q" (printf "%s-webhook" $name) -}}
{{- $webhook := printf "namespace=%q,%s" $namespace $webhookJob -}}
{{- $controlPlane := printf "namespace=%q,job=%q" $namespace (printf "%s-control-plane" $name) -}}
{{- /* Without a policy engine in the values, NoEngine is intended. */ -}}
{{- $notLoaded := ternary "PolicyNotLoaded" "PolicyNotLoaded|NoEngine" (eq .Values.policy.engine "none") -}}
{{- $alerts := list
  (dict "alert" "AgentComplianceInjectorDown" "for" "2m" "severity" "critical"
    "expr" (include "ac.down" $webhook)
    "summary" "No injector is up: new agent pods cannot be injected.")
  (dict "alert" "AgentComplianceInjectorErrors" "for" "5m" "severity" "warning"
    "expr" (printf "sum(rate(controller_runtime_webhook_requests_total{%s,code=~\"5..\"}[5m])) > 0" $webhook)
    "summary" "The injector responds to the API server with errors.")
  (dict "alert" "AgentComplianceInjectorNotTrusted" "for" "5m" "severity" "warning"
    "expr" (printf "sum(rate(platform_webhook_tls_errors_total{%s}[5m])) > 0.05" $webhook)
    "summary" "TLS handshakes with the injector fail: a client does not trust its certificate.")
  (dict "alert" "AgentComplianceInjectorRefuses" "severity" "warning" "hasNamespace" true
    "expr" (printf "max by (namespace, code) (platform_webhook_last_refusal_timestamp_seconds{%s}) > time() - 20 * 60" $webhookJob)
    "summary" "{{ $labels.namespace }}: pods that opt in are rejected: {{ $labels.code }}.")
  (dict "alert" "AgentComplianceCertificateExpires" "for" "10m" "severity" "critical"
    "expr" (printf "min(platform_webhook_certificate_expiry_seconds{%s}) - time() < 14 * 86400" $webhook)
    "summary" "The injector's certificate expires in less than 14 days; it should have been renewed 30 days before expiry.")
  (dict "alert" "AgentComplianceOperatorDown" "for" "5m" "severity" "critical"
    "expr" (include "ac.down" $operator)
    "summary" "No operator is up: AgentObservations are not updated.")
  (dict "alert" "AgentComplianceNoLeader" "for" "2m" "severity" "critical"
    "expr" (printf "sum(leader_election_master_status{%[1]s}) == 0 or sum(avg_over_time(leader_election_master_status{%[1]s}[10m])) < 0.5" $operator)
    "summary" "No replica of the operator is the leader.")
  (dict "alert" "AgentComplianceReconcileErrors" "for" "15m" "severity" "warning"
    "expr" (printf "sum by (controller) (rate(controller_runtime_reconcile_errors_total{%s}[5m])) > 0" $operator)
    "summary" "The operator's controller {{ $labels.controller }} fails repeatedly.")
  (dict "alert" "AgentComplianceQueueGrows" "severity" "warning" "minutes" 10 "window" 20
    "bad" (printf "sum by (name) (workqueue_depth{%s}) > bool 100" $operator)
    "summary" "The operator's queue {{ $labels.name }} had more than 100 keys in {{ $value }} of the last 20 minutes.")
  (dict "alert" "AgentComplianceMirrorFails" "severity" "warning" "minutes" 5 "window" 15
    "bad" (include "ac.zeroOnLeader" (list "platform_operator_mirror_up" $operator))
    "summary" "The control plane outside the cluster cannot be read: its mirrored agents are not updated.")
  (dict "alert" "AgentComplianceControlPlaneDown" "for" "5m" "severity" "critical"
    "expr" (include "ac.down" $controlPlane)
    "summary" "No control plane is up: no agent status is updated.")
  (dict "alert" "AgentComplianceControlPlaneErrors" "severity" "warning" "minutes" 10 "window" 20
    "bad" (printf "sum(rate(platform_control_plane_requests_total{%[1]s,status=~\"5..\"}[5m])) / sum(rate(platform_control_plane_requests_total{%[1]s}[5m])) > bool 0.05" $controlPlane)
    "summary" "More than 5 % of the control plane's responses are server errors.")
  (dict "alert" "AgentComplianceAgentsWithoutMetrics" "for" "15m" "severity" "warning"
    "expr" (printf "max(platform_operator_agents_without_metrics{%s}) > 0" $operator)
    "summary" "{{ $value }} agents are above the limit of 5,000 and have no alerts.")
  (dict "alert" "AgentComplianceNamespaceTooLarge" "for" "5m" "severity" "warning"
    "expr" (printf "max(platform_operator_incomplete_namespaces{%s,informer!~\"rejections|mounts\"}) > 0 or max(platform_control_plane_incomplete_namespaces{%s}) > 0" $operator $controlPlane)
    "summary" "{{ $value }} namespaces have more objects than the product has memory for: their agents are not updated.")
  (dict "alert" "AgentComplianceAgentsStale" "severity" "warning"
    "agent" "platform_agent_condition" "state" "condition=\"Reporting\",reason=\"Stale\"" "unless" "platform_agent_stopped"
    "summary" "stopped reporting.")
  (dict "alert" "AgentComplianceAgentNeverReported" "severity" "warning"
    "agent" "platform_agent_condition" "state" "condition=\"Reporting\",reason=\"NeverReported\""
    "summary" "runs, but has never reported.")
  (dict "alert" "AgentComplianceAgentsUnhealthy" "severity" "warning"
    "agent" "platform_agent_condition" "state" "condition=\"Ready\",reason=~\"Unhealthy|AgentUnreachable\""
    "summary" "was unhealthy or did not respond in {{ $value }} of the last 15 minutes.")
  (dict "alert" "AgentComplianceAgentCannotStart" "severity" "warning"
    "agent" "platform_agent_condition" "state" "condition=~\"ManifestValid|SidecarFits\",status=\"False\""
    "summary" "the manifest is invalid or the sidecar does not fit, so new pods do not start.")
  (dict "alert" "AgentComplianceAgentNotInjected" "severity" "warning"
    "agent" "platform_agent_condition" "state" "condition=\"Injected\",status=\"False\""
    "summary" "a pod runs without the sidecar.")
  (dict "alert" "AgentComplianceAgentNotRouted" "severity" "warning"
    "agent" "platform_agent_condition" "state" "condition=\"Routed\",status=\"False\""
    "summary" "requests do not pass the sidecar.")
  (dict "alert" "AgentCompliancePolicyNotLoaded" "severity" "warning"
    "agent" "platform_agent_condition" "state" (printf "condition=\"PolicyLoaded\",reason=~%q" $notLoaded)
    "summary" "no policy rule is enforced, because the policy engine does not have the rules.")
  (dict "alert" "AgentComplianceAgentFailsOpen" "severity" "warning"
    "agent" "platform_agent_condition" "state" "condition=\"PolicyLoaded\",reason=\"EngineUnreachable\""
    "or" (printf "max by (namespace, agent) (platform_agent_failed_open_requests{%[1]s} - min_over_time(platform_agent_failed_open_requests{%[1]s}[15m])) > 0" $job)
    "summary" "requests pass without evaluation, because the policy engine is unreachable.")
  (dict "alert" "AgentComplianceAgentGradeLow" "severity" "warning"
    "agent" "platform_agent_score" "compare" " < 60"
    "summary" "the grade is D or F.")
  (dict "alert" "AgentComplianceAgentUndeclared" "severity" "warning"
    "agent" "platform_agent_undeclared_items" "compare" " > 0"
    "summary" "uses models, tools, MCP servers or hosts that the manifest does not declare.")
  (dict "alert" "AgentComplianceAgentEvidenceLost" "severity" "warning" "minutes" 30 "window" 60
    "agent" "platform_agent_compliant" "state" "status=\"Unknown\",reason=~\"NotShown|EvidenceUnknown\""
    "and" (printf "group by (namespace, agent) (max_over_time(platform_agent_compliant{%s,status=\"True\"}[1d]))" $job)
    "summary" "was compliant, and no longer has enough evidence.")
  (dict "alert" "AgentComplianceAgentNotCompliant" "severity" "warning"
    "agent" "platform_agent_compliant" "state" "status=\"False\""
    "summary" "not compliant in {{ $value }} of the last 15 minutes.")
-}}
{{- if .Values.canary.enabled }}
{{- $alerts = append $alerts (dict "alert" "AgentComplianceCanaryFails" "severity" "critical" "minutes" 10 "window" 20
    "bad" (include "ac.zeroOnLeader" (list "platform_operator_canary_passing" $operator))
    "summary" "The canary's dry-run pod differs from the expected injected pod.") }}
{{- end }}
{{- range $row := $alerts }}
{{- if .agent }}
{{- $series := printf "%s{%s}%s" .agent (join "," (compact (list $job .state))) (default "" .compare) }}
{{- $except := hasKey . "unless" | ternary (printf " unless on (namespace, agent) %s{%s}" (default "" .unless) $job) "" }}
{{- $row = merge $row (dict "bad" (printf "group by (namespace, agent) (%s)%s" $series $except) "minutes" 5 "window" 15) }}
{{- end }}
- alert: {{ .alert }}
  expr: {{ printf "%s%s" (join " or " (compact (list .expr (and .bad (include "ac.badMinutes" $row)) .or))) (and .and (printf " and on (namespace, agent) %s" .and) | default "") | quote }}
  {{- with .for }}
  for: {{ . }}
  {{- end }}
  labels:
    severity: {{ .severity }}
    {{- if not (or .agent .hasNamespace) }}
    namespace: {{ $namespace }}
    {{- end }}
  annotations:
    summary: {{ printf "%s%s" (ternary "{{ $labels.namespace }}/{{ $labels.agent }}: " "" (hasKey . "agent")) .summary | quote }}
    runbook_url: {{ printf "%s#%s" $.Values.monitoring.prometheusRule.runbookUrl (lower .alert) | quote }}
{{- end }}
{{- end -}}
