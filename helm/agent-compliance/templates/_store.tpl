{{/* Variables of the control plane's store. */}}
{{- define "ac.storeEnv" -}}
{{- $store := .Values.controlPlane.store -}}
- name: STORE
  value: {{ $store.type }}
{{- if eq $store.type "sqlite" }}
- name: DATA_DIR
  value: /data
# SQLite writes temporary files in large transactions, and the root file system is read-only.
- name: SQLITE_TMPDIR
  value: /data
{{- else if eq $store.type "postgres" }}
- name: DATABASE_URL_FILE
  value: /var/run/secrets/database/url
{{- if $store.postgres.caKey }}
- name: DATABASE_CA_FILE
  value: /var/run/secrets/database/ca.crt
{{- end }}
- name: DATABASE_POOL
  value: {{ $store.postgres.pool | quote }}
{{- end }}
{{- if ne $store.type "kubernetes" }}
- name: KEEP_HEARTBEATS
  value: {{ $store.keepHeartbeats | quote }}
- name: KEEP_HOURLY_DAYS
  value: {{ $store.keepHourlyDays | quote }}
- name: KEEP_DAILY_DAYS
  value: {{ $store.keepDailyDays | quote }}
- name: AUDIT_RETENTION_DAYS
  value: {{ $store.auditRetentionDays | quote }}
- name: REMOVE_AFTER_DAYS
  value: {{ $store.removeAfterDays | quote }}
{{- end }}
{{- end -}}

{{/* Volume mounts of the store; may be empty. */}}
{{- define "ac.storeMounts" -}}
{{- $store := .Values.controlPlane.store -}}
{{- if eq $store.type "sqlite" -}}
- { name: data, mountPath: /data }
{{- else if eq $store.type "postgres" -}}
- { name: database, mountPath: /var/run/secrets/database, readOnly: true }
{{- end -}}
{{- end -}}

{{/* Volumes of the store; may be empty. */}}
{{- define "ac.storeVolumes" -}}
{{- $store := .Values.controlPlane.store -}}
{{- if eq $store.type "sqlite" -}}
- name: data
  persistentVolumeClaim: { claimName: {{ include "ac.dataClaim" . }} }
{{- else if eq $store.type "postgres" -}}
- name: database
  secret:
    secretName: {{ $store.postgres.existingSecret }}
    {{- include "ac.secretMode" . | nindent 4 }}
    items:
      - { key: {{ $store.postgres.urlKey }}, path: url }
      {{- with $store.postgres.caKey }}
      - { key: {{ . }}, path: ca.crt }
      {{- end }}
{{- end -}}
{{- end -}}

{{- define "ac.dataClaim" -}}
{{- .Values.controlPlane.store.sqlite.existingClaim | default (printf "%s-control-plane-data" (include "ac.fullname" .)) -}}
{{- end -}}

{{/* Only with SQLite the old pod ends before the new pod starts: both would use the database file. */}}
{{- define "ac.controlPlaneStrategy" -}}
{{- if eq .Values.controlPlane.store.type "sqlite" -}}
type: Recreate
{{- else -}}
{{ include "ac.strategy" . }}
{{- end -}}
{{- end -}}

{{- define "ac.storeProblems" -}}
{{- $replicas := int .Values.controlPlane.replicas -}}
{{- $store := .Values.controlPlane.store -}}
{{- $isPostgres := eq $store.type "postgres" -}}
{{- $isSqlite := eq $store.type "sqlite" -}}
{{- $running := lookup "apps/v1" "Deployment" .Release.Namespace (printf "%s-control-plane" (include "ac.fullname" .)) -}}
{{- $wasSqlite := eq (dig "spec" "strategy" "type" "" $running) "Recreate" -}}
{{- $mostReplicas := max $replicas (dig "spec" "replicas" 1 $running | int) -}}
{{- include "ac.lines" (list
  (list (and $isSqlite (gt $replicas 1)) "controlPlane.replicas"
    (printf "%d replicas cannot share the database file of controlPlane.store.type sqlite; use 1 replica, or controlPlane.store.type postgres" $replicas))
  (list (and $running (ne $isSqlite $wasSqlite) (gt $mostReplicas 1)) "controlPlane.store.type"
    "changes from or to sqlite only with 1 replica, because Kubernetes scales the pods of the previous store first; change controlPlane.replicas in a separate upgrade")
  (list (lt (include "ac.number" $store.sqlite.size | default "0" | float64) 67108864.0) "controlPlane.store.sqlite.size"
    (printf "%q is not a valid size of a volume: use at least 64Mi, such as 8Gi" (toString $store.sqlite.size)))
  (list (and $isPostgres (not $store.postgres.existingSecret)) "controlPlane.store.postgres.existingSecret"
    (printf "required with controlPlane.store.type postgres: a Secret in the namespace %s with the URL of the database in the entry %s" .Release.Namespace $store.postgres.urlKey))
) -}}
{{- if and $isPostgres $store.postgres.existingSecret }}{{ include "ac.databaseSecretProblems" . }}{{ end -}}
{{- end -}}

{{/* An existing Secret with which the pods would not start. `helm template` cannot read Secrets. */}}
{{- define "ac.databaseSecretProblems" -}}
{{- $postgres := .Values.controlPlane.store.postgres -}}
{{- $path := "controlPlane.store.postgres.existingSecret" -}}
{{- $data := (lookup "v1" "Secret" .Release.Namespace $postgres.existingSecret).data -}}
{{- if $data -}}
{{- range list $postgres.urlKey $postgres.caKey -}}
{{- include "ac.lines" (list (list (and . (not (hasKey $data .))) $path
  (printf "Secret %s has no entry %s" $postgres.existingSecret .))) -}}
{{- end -}}
{{- if hasKey $data $postgres.urlKey -}}
{{- $url := get $data $postgres.urlKey | b64dec -}}
{{- include "ac.lines" (list (list (not (regexMatch "\\Apostgres(ql)?://\\S+\\z" $url)) $path
  (printf "the entry %s of Secret %s is not a URL that begins with postgres:// or postgresql://, without spaces and newlines" $postgres.urlKey $postgres.existingSecret))) -}}
{{- end -}}
{{- end -}}
{{- end -}}
