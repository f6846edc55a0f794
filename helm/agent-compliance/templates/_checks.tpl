{{/*
What no single value shows: combinations that would not do what they seem to, and values that a schema refuses without words.
A check is (list <is wrong> "path of the value" "what is wrong, and what to do"); all that are wrong are told at once.
*/}}
{{- define "ac.problems" -}}
{{- include "ac.togetherProblems" . -}}
{{- include "ac.keyProblems" . -}}
{{- include "ac.namespaceProblems" . -}}
{{- include "ac.imageProblems" . -}}
{{- include "ac.replicaProblems" . -}}
{{- include "ac.resourceProblems" . -}}
{{- include "ac.labelProblems" . -}}
{{- include "ac.guardProblems" . -}}
{{- end -}}

{{/* One line for each check that is wrong. */}}
{{- define "ac.lines" -}}
{{- range . }}
{{- if index . 0 }}
- {{ index . 1 }}: {{ index . 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "ac.togetherProblems" -}}
{{- $policy := .Values.policy -}}
{{- $modes := dict "off" 0 "track" 1 "enforce" 2 -}}
{{- include "ac.lines" (list
  (list (lt (get $modes $policy.mode) (get $modes $policy.minimumMode)) "policy.mode"
    (printf "%s is under policy.minimumMode, which is %s" $policy.mode $policy.minimumMode))
  (list (and (eq .Values.guard.action "off") (ne $policy.minimumMode "off")) "guard.action"
    (printf "off lets agents start without a sidecar while the injector is away, where policy.minimumMode %s holds for none of them; take deny, or minimumMode off" $policy.minimumMode))
  (list (and (eq $policy.engine "none") (or (eq $policy.mode "enforce") (eq $policy.minimumMode "enforce"))) "policy.engine"
    "none evaluates no rule, so enforce would stop nothing; take builtin or opa, or the mode track")
  (list (and .Values.remote.controlPlane.url (not .Values.remote.controlPlane.existingSecret)) "remote.controlPlane.existingSecret"
    "wanted with remote.controlPlane.url: a Secret with the admin key of that control plane")
  (list (and (eq $policy.engine "opa") (not $policy.opa.image)) "policy.opa.image"
    "wanted with policy.engine opa: an image of Open Policy Agent with a tag or a digest, such as openpolicyagent/opa:1.22.0-static")
  (list (and .Values.monitoring.prometheusRule.enabled (not .Values.monitoring.serviceMonitor.enabled)) "monitoring.prometheusRule.enabled"
    "its alerts need the metrics of monitoring.serviceMonitor; without them every alert of an absent process would fire")
) -}}
{{- end -}}

{{- define "ac.keyProblems" -}}
{{- $key := .Values.adminKey -}}
{{- $given := list -}}
{{- if $key.value }}{{ $given = append $given "value" }}{{ end -}}
{{- if $key.existingSecret }}{{ $given = append $given "existingSecret" }}{{ end -}}
{{- if $key.generate }}{{ $given = append $given "generate" }}{{ end -}}
{{- include "ac.lines" (list
  (list (gt (len $given) 1) "adminKey" (printf "%s exclude each other: which one holds the key?" (join " and " $given)))
  (list (and $key.value (not (regexMatch "^[!-~]+$" $key.value))) "adminKey.value"
    "not visible ASCII without spaces, which a header can carry; try: openssl rand -hex 24")
) -}}
{{- if or $key.existingSecret $key.generate }}{{ include "ac.storedKeyProblems" . }}{{ end -}}
{{- end -}}

{{/* The key in a Secret that is there, with which the control plane would not start. `helm template` sees no Secret. */}}
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
    (printf "the key in the entry %s of Secret %s has fewer than 16 characters, and the control plane would not start with it; change it first (openssl rand -hex 24): agents outside the cluster then register anew" $entry $secret))
  (list (and (not $isShort) (not (regexMatch "\\A[!-~]+\\z" $stored))) $path
    (printf "the key in the entry %s of Secret %s is not visible ASCII without spaces and line feeds, and the control plane would not start with it; change it first" $entry $secret))
) -}}
{{- end -}}
{{- end -}}

{{- define "ac.namespaceProblems" -}}
{{- $remote := .Values.remote.namespace -}}
{{- /* A release of 0.1.0 has no such annotation: Helm would delete the namespace that this version no longer renders. */}}
{{- range (lookup "v1" "Namespace" "" "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- $isOfRelease := and (eq (get $labels "app.kubernetes.io/name") $.Chart.Name) (eq (get $labels "app.kubernetes.io/instance") $.Release.Name) (eq (get $labels "app.kubernetes.io/component") "control-plane") -}}
{{- $isKept := eq (get (.metadata.annotations | default dict) "helm.sh/resource-policy") "keep" -}}
{{- $isRendered := and $.Values.remote.createNamespace (eq .metadata.name $remote) -}}
{{- include "ac.lines" (list (list (and $isOfRelease (not $isKept) (not $isRendered)) "remote"
  (printf "Helm would delete the namespace %s with every registered agent in it; first: kubectl annotate namespace %s helm.sh/resource-policy=keep" .metadata.name .metadata.name))) -}}
{{- end -}}
{{- include "ac.lines" (list
  (list (has $remote (list .Release.Namespace "kube-system" "default")) "remote.namespace"
    (printf "%s has other things in it; observations of agents outside the cluster need a namespace of their own, in which the control plane may create and delete them" $remote))
  (list (and .Values.canary.enabled (eq .Values.canary.namespace $remote)) "canary.namespace"
    (printf "%s is also remote.namespace; the canary needs a namespace of its own" $remote))
  (list (and .Values.canary.enabled (has .Values.canary.namespace (include "ac.excludedNamespaces" . | fromJsonArray))) "canary.namespace"
    (printf "nothing is injected in %s; the canary needs a namespace of its own" .Values.canary.namespace))
  (list (has .Release.Namespace .Values.networkPolicy.agents.namespaces) "networkPolicy.agents.namespaces"
    (printf "nothing is injected in %s, the release's own namespace" .Release.Namespace))
) -}}
{{- end -}}

{{- define "ac.imageProblems" -}}
{{- $public := list -}}
{{- range $part := list "operator" "webhook" "controlPlane" "sidecar" -}}
{{- $repository := (index $.Values $part).image.repository -}}
{{- if not (regexMatch "^(localhost|[^/]*[.:][^/]*)/" $repository) }}{{ $public = append $public $repository }}{{ end -}}
{{- end -}}
{{- /* The guard would trust whoever owns the name on a public registry. */}}
{{- $checks := list (list (and (not .Values.image.registry) (gt (len $public) 0)) "image.registry"
    (printf "empty, so a node would pull %s from its default registry, where the names may belong to somebody else; set the registry that has the images, such as --set image.registry=registry.example.com, or localhost for images built on the nodes" (join ", " $public)))
  (list (or (contains "://" .Values.image.registry) (regexMatch "[^A-Za-z0-9._:/-]" .Values.image.registry)) "image.registry"
    (printf "%q is no registry such as registry.example.com/mirror, without https://" .Values.image.registry)) -}}
{{- range $part := list "operator" "webhook" "controlPlane" "sidecar" -}}
{{- $image := (index $.Values $part).image -}}
{{- $path := printf "%s.image" $part -}}
{{- $checks = concat $checks (list
  (list (not (regexMatch "^[a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+/[a-z0-9]+([._-]+[a-z0-9]+)*)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$" $image.repository)) (printf "%s.repository" $path)
    (printf "%q is no name of an image such as team/%s; a tag belongs into tag, a digest into digest" $image.repository (kebabcase $part)))
  (list (not (regexMatch "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$" $image.tag)) (printf "%s.tag" $path) (printf "%q is no tag" $image.tag))
  (list (and (eq $image.tag "latest") (not $image.digest)) (printf "%s.tag" $path)
    "latest is another image tomorrow, and replicas would run different ones; name a version or a digest")
  (list (not (regexMatch "^(sha256:[0-9a-f]{64})?$" $image.digest)) (printf "%s.digest" $path)
    (printf "%q is no digest: sha256: and 64 hexadecimal digits" $image.digest))
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

{{/* Why a text is no image reference that stays the same; empty: it is one, or there is none. */}}
{{- define "ac.referenceProblem" -}}
{{- if not . -}}
{{- else if not (regexMatch "^[a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+/[a-z0-9]+([._-]+[a-z0-9]+)*)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$" .) -}}
{{ printf "%q is no image reference such as registry.example.com/team/name:1.2.3" . }}
{{- else if not (regexMatch "(:[^/]+|@sha256:.*)$" .) -}}
{{ printf "%q has neither tag nor digest, and means whatever is latest; name one" . }}
{{- else if regexMatch ":latest$" . -}}
{{ printf "%q is another image tomorrow; name a version or a digest" . }}
{{- end -}}
{{- end -}}

{{- define "ac.replicaProblems" -}}
{{- $checks := list -}}
{{- range $part := list "operator" "webhook" "controlPlane" -}}
{{- $values := index $.Values $part -}}
{{- $stay := $values.podDisruptionBudget.minAvailable -}}
{{- if and $values.podDisruptionBudget.enabled (not (kindIs "invalid" $stay)) -}}
{{- $checks = append $checks (list (ge (int $stay) (int $values.replicas)) (printf "%s.podDisruptionBudget.minAvailable" $part)
  (printf "%d of %s.replicas %d must stay, so that no node with one could ever be drained; take more replicas or a smaller number" (int $stay) $part (int $values.replicas))) -}}
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
{{- if eq (include "ac.number" $quantity) "" -}}
{{- $checks = append $checks (list true $place (printf "%q is no quantity such as 250m or 192Mi" (toString $quantity))) -}}
{{- else if and (has $path (list "sidecar.resources" "policy.opa.resources")) (not (include "ac.isSidecarSize" (list $name $quantity))) -}}
{{- $checks = append $checks (list true $place (printf "%s is not from %s" (toString $quantity) (eq $name "cpu" | ternary "1m to 64" "96Mi to 16Gi"))) -}}
{{- else if and (eq $name "memory") (eq $side "limits") (lt (include "ac.number" $quantity | float64) (include "ac.number" ($isWebhook | ternary "320Mi" "96Mi") | float64)) -}}
{{- $checks = append $checks (list true $place (printf "%s is under %s" (toString $quantity) ($isWebhook | ternary
  "320Mi, with which a review of the largest pod may end the process; take 384Mi, the default, which --reuse-values does not bring: --reset-then-reuse-values, or --set webhook.resources.limits.memory=384Mi"
  "96Mi, in which the process does not run"))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $name, $request := $requests -}}
{{- $limit := get $limits $name -}}
{{- if and (hasKey $limits $name) (include "ac.number" $request) (include "ac.number" $limit) -}}
{{- $checks = append $checks (list (gt (include "ac.number" $request | float64) (include "ac.number" $limit | float64)) (printf "%s.requests.%s" $path $name)
  (printf "%s is over the limit, which is %s" (toString $request) (toString $limit))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- include "ac.lines" $checks -}}
{{- end -}}

{{/* "true" when a quantity is one that an injected container may have; called with (list "cpu" "250m"). */}}
{{- define "ac.isSidecarSize" -}}
{{- $number := include "ac.number" (index . 1) | float64 -}}
{{- $bounds := eq (index . 0) "cpu" | ternary (list "1m" "64") (list "96Mi" "16Gi") -}}
{{- if and (ge $number (include "ac.number" (index $bounds 0) | float64)) (le $number (include "ac.number" (index $bounds 1) | float64)) }}true{{ end -}}
{{- end -}}

{{/* The number that a quantity stands for; empty: it is none. */}}
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
  (list (regexMatch "^(app[.]kubernetes[.]io/|helm[.]sh/|platform[.]io/)" $key) (printf "%s.%s" $path $key) "set by the chart itself, which finds its pods by it")
  (list (not (regexMatch "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$" $value)) (printf "%s.%s" $path $key)
    (printf "%q is no value of a label: at most 63 of letters, digits, - _ and ., beginning and ending with one of the first two" $value))
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
{{- $isOurs := regexMatch "^(NODE_|LD_|OPENSSL_|SSL_|OPA_|GO|UV_|PLATFORM_)" $name -}}
{{- range $table.sidecarVariables -}}
{{- if or (eq . $name) (and (hasSuffix "*" $entry) (hasPrefix $name .)) }}{{ $isOurs = true }}{{ end -}}
{{- end -}}
{{- range list "NODE_" "LD_" "OPENSSL_" "SSL_" "OPA_" "GO" "UV_" "PLATFORM_" -}}
{{- if and (hasSuffix "*" $entry) (hasPrefix $name .) }}{{ $isOurs = true }}{{ end -}}
{{- end -}}
{{- $checks = append $checks (list $isOurs "guard.alsoAllowed.env" (printf "%q would let whoever writes a pod change what the sidecar, the engine or Node.js does" $entry)) -}}
{{- end -}}
{{- range .Values.guard.alsoAllowed.mounts -}}
{{- $isOurs := regexMatch "^(/var)?/run/secrets/(platform[.]io|kubernetes[.]io)(/|$)|^(/var)?/run/secrets$" . -}}
{{- $checks = append $checks (list $isOurs "guard.alsoAllowed.mounts" (printf "%q is or covers a mount of the sidecar" .)) -}}
{{- end -}}
{{- include "ac.lines" $checks -}}
{{- end -}}
