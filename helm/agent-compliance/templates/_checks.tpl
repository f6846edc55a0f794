{{/*
Checks that the schema cannot express: contradictory combinations, and values for which the schema has no clear message.
A check is (list <is invalid> "path of the value" "the problem and the fix"); all problems are reported at once.
*/}}
{{- define "ac.problems" -}}
{{- include "ac.combinationProblems" . -}}
{{- include "ac.keyProblems" . -}}
{{- include "ac.namespaceProblems" . -}}
{{- include "ac.imageProblems" . -}}
{{- include "ac.replicaProblems" . -}}
{{- include "ac.resourceProblems" . -}}
{{- include "ac.labelProblems" . -}}
{{- include "ac.guardProblems" . -}}
{{- include "ac.llmProblems" . -}}
{{- include "ac.storeProblems" . -}}
{{- include "ac.accessProblems" . -}}
{{- end -}}

{{/* One line for each failed check. */}}
{{- define "ac.lines" -}}
{{- range . }}
{{- if index . 0 }}
- {{ index . 1 }}: {{ index . 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "ac.combinationProblems" -}}
{{- $policy := .Values.policy -}}
{{- $modes := dict "off" 0 "track" 1 "enforce" 2 -}}
{{- include "ac.lines" (list
  (list (lt (get $modes $policy.mode) (get $modes $policy.minimumMode)) "policy.mode"
    (printf "%s is below policy.minimumMode (%s)" $policy.mode $policy.minimumMode))
  (list (and (eq .Values.guard.action "off") (ne $policy.minimumMode "off")) "guard.action"
    (printf "off lets agents start without a sidecar while the injector is unavailable, which contradicts policy.minimumMode %s; set guard.action to deny, or policy.minimumMode to off" $policy.minimumMode))
  (list (and (eq $policy.engine "none") (or (eq $policy.mode "enforce") (eq $policy.minimumMode "enforce"))) "policy.engine"
    "none evaluates no rule, so the mode enforce has no effect; set the engine builtin or opa, or the mode track")
  (list (and .Values.remote.controlPlane.url (not .Values.remote.controlPlane.existingSecret)) "remote.controlPlane.existingSecret"
    "required with remote.controlPlane.url: a Secret with the admin key of this control plane")
  (list (and (eq $policy.engine "opa") (not $policy.opa.image)) "policy.opa.image"
    "required with policy.engine opa: an Open Policy Agent image with a tag or a digest, such as openpolicyagent/opa:1.22.0-static")
  (list (regexMatch "/v1/(traces|metrics|logs)/?$" .Values.sidecar.otlp.collector) "sidecar.otlp.collector"
    "must be the base URL of the collector; the sidecar appends the path of the signal, such as /v1/traces")
  (list (and .Values.monitoring.prometheusRule.enabled (not .Values.monitoring.serviceMonitor.enabled)) "monitoring.prometheusRule.enabled"
    "its alerts need the metrics of monitoring.serviceMonitor; without them, every alert for an absent process would fire")
) -}}
{{- end -}}

{{- define "ac.keyProblems" -}}
{{- $key := .Values.adminKey -}}
{{- $given := list -}}
{{- if $key.value }}{{ $given = append $given "value" }}{{ end -}}
{{- if $key.existingSecret }}{{ $given = append $given "existingSecret" }}{{ end -}}
{{- if $key.generate }}{{ $given = append $given "generate" }}{{ end -}}
{{- include "ac.lines" (list
  (list (gt (len $given) 1) "adminKey" (printf "%s are mutually exclusive; set only one of them" (join " and " $given)))
  (list (and $key.value (not (regexMatch "^[!-~]+$" $key.value))) "adminKey.value"
    "must be visible ASCII without spaces, because it is sent in a header; generate a key with: openssl rand -hex 24")
) -}}
{{- if or $key.existingSecret $key.generate }}{{ include "ac.storedKeyProblems" . }}{{ end -}}
{{- end -}}

{{/* An existing Secret with a key with which the control plane would not start. `helm template` cannot read Secrets. */}}
{{- define "ac.storedKeyProblems" -}}
{{- $secret := include "ac.adminSecret" . -}}
{{- $entry := .Values.adminKey.secretKey -}}
{{- $path := .Values.adminKey.generate | ternary "adminKey.generate" "adminKey.existingSecret" -}}
{{- $data := (lookup "v1" "Secret" .Release.Namespace $secret).data | default dict -}}
{{- if hasKey $data $entry -}}
{{- $stored := get $data $entry | b64dec -}}
{{- $isShort := lt (len $stored) 16 -}}
{{- include "ac.lines" (list
  (list $isShort $path
    (printf "the key in the entry %s of Secret %s has fewer than 16 characters, so the control plane would not start; change the key first (openssl rand -hex 24). Agents outside the cluster must then register again" $entry $secret))
  (list (and (not $isShort) (not (regexMatch "\\A[!-~]+\\z" $stored))) $path
    (printf "the key in the entry %s of Secret %s is not visible ASCII without spaces and newlines, so the control plane would not start; change the key first" $entry $secret))
) -}}
{{- end -}}
{{- end -}}

{{- define "ac.namespaceProblems" -}}
{{- $remote := .Values.remote.namespace -}}
{{- /* The namespace of a 0.1.0 release has no keep annotation, so Helm would delete it if this version does not render it. */}}
{{- range (lookup "v1" "Namespace" "" "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $isOfRelease := and (eq (get $labels "app.kubernetes.io/name") $.Chart.Name) (eq (get $labels "app.kubernetes.io/instance") $.Release.Name) (eq (get $labels "app.kubernetes.io/component") "control-plane") -}}
{{- $isKept := eq (get (.metadata.annotations | default dict) "helm.sh/resource-policy") "keep" -}}
{{- $isRendered := and $.Values.remote.createNamespace (eq .metadata.name $remote) -}}
{{- include "ac.lines" (list (list (and $isOfRelease (not $isKept) (not $isRendered)) "remote"
  (printf "Helm would delete the namespace %s with all its registered agents; run this command first: kubectl annotate namespace %s helm.sh/resource-policy=keep" .metadata.name .metadata.name))) -}}
{{- end -}}
{{- include "ac.lines" (list
  (list (has $remote (list .Release.Namespace "kube-system" "default")) "remote.namespace"
    (printf "%s contains other objects; observations of agents outside the cluster need a separate namespace, in which the control plane may create and delete them" $remote))
  (list (and .Values.canary.enabled (eq .Values.canary.namespace $remote)) "canary.namespace"
    (printf "%s is also remote.namespace; the canary needs a separate namespace" $remote))
  (list (and .Values.canary.enabled (has .Values.canary.namespace (include "ac.excludedNamespaces" . | fromJsonArray))) "canary.namespace"
    (printf "%s is excluded from injection; the canary needs a separate namespace" .Values.canary.namespace))
  (list (has .Release.Namespace .Values.networkPolicy.agents.namespaces) "networkPolicy.agents.namespaces"
    (printf "%s is the release's namespace, which is excluded from injection" .Release.Namespace))
) -}}
{{- end -}}

{{- define "ac.imageProblems" -}}
{{- $public := list -}}
{{- range $part := list "operator" "webhook" "controlPlane" "sidecar" -}}
{{- $repository := (index $.Values $part).image.repository -}}
{{- if not (regexMatch "^(localhost|[^/]*[.:][^/]*)/" $repository) }}{{ $public = append $public $repository }}{{ end -}}
{{- end -}}
{{- /* Otherwise the guard would trust images of the owner of this name on a public registry. */}}
{{- $checks := list (list (and (not .Values.image.registry) (gt (len $public) 0)) "image.registry"
    (printf "empty, so a node would pull %s from its default registry, where another party may own these names; set the registry of the images, such as --set image.registry=registry.example.com, or localhost for images built on the nodes" (join ", " $public)))
  (list (or (contains "://" .Values.image.registry) (regexMatch "[^A-Za-z0-9._:/-]" .Values.image.registry)) "image.registry"
    (printf "%q is not a valid registry such as registry.example.com/mirror (without https://)" .Values.image.registry)) -}}
{{- range $part := list "operator" "webhook" "controlPlane" "sidecar" -}}
{{- $image := (index $.Values $part).image -}}
{{- $path := printf "%s.image" $part -}}
{{- $checks = concat $checks (list
  (list (not (regexMatch "^[a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+/[a-z0-9]+([._-]+[a-z0-9]+)*)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" $image.repository)) (printf "%s.repository" $path)
    (printf "%q is not a valid image name such as team/%s; set a tag in tag and a digest in digest" $image.repository (kebabcase $part)))
  (list (not (regexMatch "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$" $image.tag)) (printf "%s.tag" $path) (printf "%q is not a valid tag" $image.tag))
  (list (and (eq $image.tag "latest") (not $image.digest)) (printf "%s.tag" $path)
    "latest is not a fixed version, so replicas could run different images; set a version or a digest")
  (list (not (regexMatch "^(sha256:[0-9a-f]{64})?$" $image.digest)) (printf "%s.digest" $path)
    (printf "%q is not a valid digest: expected sha256: and 64 hexadecimal digits" $image.digest))
) -}}
{{- end -}}
{{- $checks = append $checks (list (ne (include "ac.referenceProblem" .Values.policy.opa.image) "") "policy.opa.image"
  (include "ac.referenceProblem" .Values.policy.opa.image)) -}}
{{- range .Values.sidecar.allowedImages -}}
{{- $problem := include "ac.referenceProblem" . | default (not . | ternary "an entry is empty" "") -}}
{{- $checks = append $checks (list (ne $problem "") "sidecar.allowedImages" $problem) -}}
{{- end -}}
{{- include "ac.lines" $checks -}}
{{- end -}}

{{/* Why a text is not a valid, fixed image reference; empty for a valid reference or an empty text. */}}
{{- define "ac.referenceProblem" -}}
{{- if not . -}}
{{- else if not (regexMatch "^[a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+/[a-z0-9]+([._-]+[a-z0-9]+)*)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$" .) -}}
{{ printf "%q is not a valid image reference such as registry.example.com/team/name:1.2.3" . }}
{{- else if not (regexMatch "(:[^/]+|@sha256:.*)$" .) -}}
{{ printf "%q has neither tag nor digest, so it refers to latest; add a version or a digest" . }}
{{- else if regexMatch ":latest$" . -}}
{{ printf "%q is not a fixed version; set a version or a digest" . }}
{{- end -}}
{{- end -}}

{{- define "ac.replicaProblems" -}}
{{- $checks := list -}}
{{- range $part := list "operator" "webhook" "controlPlane" -}}
{{- $values := index $.Values $part -}}
{{- $minimum := $values.podDisruptionBudget.minAvailable -}}
{{- if and $values.podDisruptionBudget.enabled (not (kindIs "invalid" $minimum)) -}}
{{- $checks = append $checks (list (ge (int $minimum) (int $values.replicas)) (printf "%s.podDisruptionBudget.minAvailable" $part)
  (printf "%d is not less than %s.replicas (%d), so nodes with these pods could not be drained; use more replicas or a smaller number" (int $minimum) $part (int $values.replicas))) -}}
{{- end -}}
{{- end -}}
{{- include "ac.lines" $checks -}}
{{- end -}}

{{- define "ac.resourceProblems" -}}
{{- $checks := list -}}
{{- range $path, $values := dict "operator.resources" .Values.operator.resources "webhook.resources" .Values.webhook.resources "controlPlane.resources" .Values.controlPlane.resources "sidecar.resources" .Values.sidecar.resources "policy.opa.resources" .Values.policy.opa.resources -}}
{{- $requests := $values.requests | default dict -}}
{{- $limits := $values.limits | default dict -}}
{{- $isWebhook := eq $path "webhook.resources" -}}
{{- range $side, $quantities := dict "requests" $requests "limits" $limits -}}
{{- range $name, $quantity := $quantities -}}
{{- $place := printf "%s.%s.%s" $path $side $name -}}
{{- if and (regexMatch "^(sidecar|policy[.]opa)[.]resources[.]limits[.]cpu$" $place) (or (kindIs "invalid" $quantity) (eq (toString $quantity) "none")) -}}
{{- else if eq (include "ac.number" $quantity) "" -}}
{{- $checks = append $checks (list true $place (printf "%q is not a valid quantity such as 250m or 192Mi" (toString $quantity))) -}}
{{- else if and (has $path (list "sidecar.resources" "policy.opa.resources")) (not (include "ac.isSidecarSize" (list $name $quantity))) -}}
{{- $checks = append $checks (list true $place (printf "%s is not in the range %s" (toString $quantity) (eq $name "cpu" | ternary "1m to 64" "96Mi to 16Gi"))) -}}
{{- else if and (eq $name "memory") (eq $side "limits") (lt (include "ac.number" $quantity | float64) (include "ac.number" ($isWebhook | ternary "320Mi" "96Mi") | float64)) -}}
{{- $checks = append $checks (list true $place (printf "%s is below %s" (toString $quantity) ($isWebhook | ternary
  "320Mi, so a review of the largest pod could terminate the process; use 384Mi, the default. --reuse-values does not apply new defaults: use --reset-then-reuse-values, or --set webhook.resources.limits.memory=384Mi"
  "96Mi, which is too small for the process"))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $request := $requests -}}
{{- $limit := get $limits $name -}}
{{- if and (hasKey $limits $name) (include "ac.number" $request) (include "ac.number" $limit) -}}
{{- $checks = append $checks (list (gt (include "ac.number" $request | float64) (include "ac.number" $limit | float64)) (printf "%s.requests.%s" $path $name)
  (printf "%s is over the limit (%s)" (toString $request) (toString $limit))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "ac.lines" $checks -}}
{{- end -}}

{{/* "true" if an injected container may have this quantity; called with (list "cpu" "250m"). */}}
{{- define "ac.isSidecarSize" -}}
{{- $number := include "ac.number" (index . 1) | float64 -}}
{{- $bounds := eq (index . 0) "cpu" | ternary (list "1m" "64") (list "96Mi" "16Gi") -}}
{{- if and (ge $number (include "ac.number" (index $bounds 0) | float64)) (le $number (include "ac.number" (index $bounds 1) | float64)) }}true{{ end -}}
{{- end -}}

{{/* The numeric value of a quantity; empty if it is invalid. */}}
{{- define "ac.number" -}}
{{- $text := toString . -}}
{{- if regexMatch "^([0-9]{1,15}([.][0-9]{0,9})?|[.][0-9]{1,9})([eE][+-]?[0-9]{1,2}|[numkMGTPE]|[KMGTPE]i)?$" $text -}}
{{- $suffix := regexFind "([numkMGTPE]|[KMGTPE]i)$" $text -}}
{{- $factors := dict "" 1.0 "n" 0.000000001 "u" 0.000001 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 -}}
{{- printf "%.9f" (mulf (trimSuffix $suffix $text | float64) (get $factors $suffix)) -}}
{{- end -}}
{{- end -}}

{{- define "ac.labelProblems" -}}
{{- $checks := list -}}
{{- $labels := dict "commonLabels" .Values.commonLabels "operator.podLabels" .Values.operator.podLabels "webhook.podLabels" .Values.webhook.podLabels "controlPlane.podLabels" .Values.controlPlane.podLabels "monitoring.labels" .Values.monitoring.labels "monitoring.dashboard.labels" .Values.monitoring.dashboard.labels -}}
{{- range $path, $map := $labels -}}
{{- range $key, $value := $map -}}
{{- $checks = concat $checks (list
  (list (regexMatch "^(app[.]kubernetes[.]io/|helm[.]sh/|platform[.]io/)" $key) (printf "%s.%s" $path $key) "reserved for the chart, which selects its pods by this label")
  (list (not (regexMatch "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$" $value)) (printf "%s.%s" $path $key)
    (printf "%q is not a valid label value: at most 63 letters, digits, - _ and ., beginning and ending with a letter or digit" $value))
) -}}
{{- end -}}
{{- end -}}
{{- include "ac.lines" $checks -}}
{{- end -}}

{{- define "ac.guardProblems" -}}
{{- $checks := list -}}
{{- $table := .Files.Get "files/guard.yaml" | fromYaml -}}
{{- range $entry := .Values.guard.alsoAllowed.env -}}
{{- $name := trimSuffix "*" $entry -}}
{{- $isReserved := regexMatch "^(NODE_|LD_|OPENSSL_|SSL_|OPA_|GO|UV_|PLATFORM_|LLM_|ANTHROPIC_|OPENAI_)" $name -}}
{{- range $table.sidecarVariables -}}
{{- if or (eq . $name) (and (hasSuffix "*" $entry) (hasPrefix $name .)) }}{{ $isReserved = true }}{{ end -}}
{{- end -}}
{{- range list "NODE_" "LD_" "OPENSSL_" "SSL_" "OPA_" "GO" "UV_" "PLATFORM_" "LLM_" "ANTHROPIC_" "OPENAI_" -}}
{{- if and (hasSuffix "*" $entry) (hasPrefix $name .) }}{{ $isReserved = true }}{{ end -}}
{{- end -}}
{{- $checks = append $checks (list $isReserved "guard.alsoAllowed.env" (printf "%q would let pod authors change the behaviour of the sidecar, the engine or Node.js" $entry)) -}}
{{- end -}}
{{- range .Values.guard.alsoAllowed.mounts -}}
{{- $isReserved := regexMatch "^(/var)?/run/secrets/(platform[.]io|kubernetes[.]io)(/|$)|^(/var)?/run/secrets$" . -}}
{{- $checks = append $checks (list $isReserved "guard.alsoAllowed.mounts" (printf "%q is or covers a mount of the sidecar" .)) -}}
{{- end -}}
{{- include "ac.lines" $checks -}}
{{- end -}}

{{- define "ac.llmProblems" -}}
{{- $llm := .Values.llmAnalysis -}}
{{- $isCompatible := and $llm.existingSecret (eq $llm.provider "openai-compatible") -}}
{{- $checks := list
  (list (and $isCompatible (not $llm.model)) "llmAnalysis.model" "required with provider openai-compatible")
  (list (and $isCompatible (not $llm.baseUrl)) "llmAnalysis.baseUrl" "required with provider openai-compatible, such as https://llm.example.com/v1")
-}}
{{- range $path, $amount := dict "usdPerDay" $llm.usdPerDay "usdPerMillionTokens.input" $llm.usdPerMillionTokens.input "usdPerMillionTokens.output" $llm.usdPerMillionTokens.output -}}
{{- $checks = append $checks (list (not (regexMatch "^[0-9]{1,6}([.][0-9]{1,4})?$" (include "ac.amount" $amount))) (printf "llmAnalysis.%s" $path)
  (printf "%s has more than four decimal places" (include "ac.amount" $amount))) -}}
{{- end -}}
{{- include "ac.lines" $checks -}}
{{- end -}}
