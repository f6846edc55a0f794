{{/*
Variables for the sign-on of persons, the read key and the approval of proofs. Secrets are files, like the admin key: a variable
appears where environments do. May be empty.
*/}}
{{- define "ac.accessEnv" -}}
{{- $values := .Values.controlPlane -}}
{{- with $values.oidc -}}
{{- if .issuer }}
- name: OIDC_ISSUER
  value: {{ .issuer | quote }}
- name: OIDC_CLIENT_ID
  value: {{ .clientId | quote }}
- name: OIDC_AUDIENCES
  value: {{ join "," .audiences | quote }}
- name: OIDC_SCOPES
  value: {{ join " " .scopes | quote }}
- name: OIDC_USERNAME_CLAIM
  value: {{ .usernameClaim | quote }}
- name: OIDC_GROUPS_CLAIM
  value: {{ .groupsClaim | quote }}
- name: OIDC_PREFIX
  value: {{ .prefix | quote }}
- name: OIDC_GROUPS_KEEP
  value: {{ join "," .keepGroups | quote }}
- name: PUBLIC_URL
  value: {{ .publicUrl | quote }}
- name: SESSION_HOURS
  value: {{ .sessionHours | quote }}
{{- range $name, $key := include "ac.oidcFiles" $values | fromYaml }}
- name: {{ get (dict "client-secret" "OIDC_CLIENT_SECRET_FILE" "session-secret" "SESSION_SECRET_FILE" "previous-session-secret" "SESSION_SECRET_PREVIOUS_FILE" "ca.crt" "NODE_EXTRA_CA_CERTS") $name }}
  value: /var/run/secrets/oidc/{{ $name }}
{{- end }}
{{- end }}
{{- end }}
{{- if $values.readKey.existingSecret }}
- name: PLATFORM_READ_KEY_FILE
  value: /var/run/secrets/read-key/key
{{- end }}
{{- if $values.proofs.approverMustNotBeAuthor }}
- name: PROOF_APPROVER_NOT_AUTHOR
  value: "true"
{{- end }}
{{- end -}}

{{/* The entries of the Secret of the identity provider by their file; called with .Values.controlPlane. */}}
{{- define "ac.oidcFiles" -}}
{{- with .oidc -}}
{{- $files := dict -}}
{{- if and .issuer .existingSecret -}}
{{- range $name, $key := dict "client-secret" .clientSecretKey "session-secret" .sessionSecretKey "previous-session-secret" .previousSessionSecretKey "ca.crt" .caKey -}}
{{- if $key }}{{ $_ := set $files $name $key }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toYaml $files -}}
{{- end -}}
{{- end -}}

{{- define "ac.accessMounts" -}}
{{- $values := .Values.controlPlane -}}
{{- if include "ac.oidcFiles" $values | fromYaml }}
- { name: oidc, mountPath: /var/run/secrets/oidc, readOnly: true }
{{- end }}
{{- if $values.readKey.existingSecret }}
- { name: read-key, mountPath: /var/run/secrets/read-key, readOnly: true }
{{- end }}
{{- end -}}

{{- define "ac.accessVolumes" -}}
{{- $values := .Values.controlPlane -}}
{{- with include "ac.oidcFiles" $values | fromYaml }}
- name: oidc
  secret:
    secretName: {{ $values.oidc.existingSecret }}
    {{- include "ac.secretMode" $ | nindent 4 }}
    items:
      {{- range $name, $key := . }}
      - { key: {{ $key }}, path: {{ $name }} }
      {{- end }}
{{- end }}
{{- if $values.readKey.existingSecret }}
- name: read-key
  secret:
    secretName: {{ $values.readKey.existingSecret }}
    {{- include "ac.secretMode" . | nindent 4 }}
    items:
      - { key: {{ $values.readKey.secretKey }}, path: key }
{{- end }}
{{- end -}}

{{- define "ac.accessProblems" -}}
{{- with .Values.controlPlane.oidc -}}
{{- include "ac.lines" (list
  (list (and .issuer (not .clientId)) "controlPlane.oidc.clientId"
    "required with controlPlane.oidc.issuer: the id of the client that is registered at the identity provider")
  (list (and .issuer (not .publicUrl)) "controlPlane.oidc.publicUrl"
    "required with controlPlane.oidc.issuer: the URL of the dashboard in browsers; the identity provider returns to its path /auth/callback")
  (list (and .issuer (not .sessionSecretKey) (not (include "ac.hasAdminKey" $))) "controlPlane.oidc.sessionSecretKey"
    "required without an admin key, from which the key of the sessions is derived otherwise")
  (list (and .previousSessionSecretKey (not .sessionSecretKey)) "controlPlane.oidc.sessionSecretKey"
    "required with previousSessionSecretKey")
  (list (and (or .sessionSecretKey .caKey) (not .existingSecret)) "controlPlane.oidc.existingSecret"
    "required with sessionSecretKey and caKey, which are entries of this Secret")
  (list (or (hasPrefix "system:" .prefix) (hasPrefix .prefix "system:")) "controlPlane.oidc.prefix"
    (printf "%q could make a token a user or group that begins with system:, which Kubernetes reserves; use a prefix such as oidc:" .prefix))
) -}}
{{- end -}}
{{- end -}}
