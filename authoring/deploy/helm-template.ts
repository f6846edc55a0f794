// A template of the chart, from YAML in which slots mark the values that the chart computes.

const expressionsOf = (name: string) =>
  ({
    name: `{{ include "${name}.fullname" . | quote }}`,
    base: `{{ include "${name}.fullname" . }}`,
    secretName: `{{ include "${name}.secretName" . | quote }}`,
    labels: `{{- include "${name}.labels" . | nindent INDENT }}`,
    selector: `{{- include "${name}.selectorLabels" . | nindent INDENT }}`,
    podLabels: `{{- include "${name}.podLabels" . | nindent INDENT }}`,
    podAnnotations:
      '{{- merge (dict "checksum/config" (include (print $.Template.BasePath "/configmap.yaml") . | sha256sum)) .Values.podAnnotations | toYaml | nindent INDENT }}',
    replicas: '{{ .Values.replicaCount }}',
    image: `{{ include "${name}.image" . | quote }}`,
    pullPolicy: '{{ .Values.image.pullPolicy }}',
    pullSecrets: '{{- toYaml .Values.imagePullSecrets | nindent INDENT }}',
    env: '{{- with .Values.env }}{{ toYaml . | nindent INDENT }}{{ end }}',
    envNames: '{{ range .Values.env }},{{ .name }}{{ end }}',
    resources: '{{- toYaml .Values.resources | nindent INDENT }}',
    nodeSelector: '{{- toYaml .Values.nodeSelector | nindent INDENT }}',
    tolerations: '{{- toYaml .Values.tolerations | nindent INDENT }}',
    affinity: '{{- toYaml .Values.affinity | nindent INDENT }}',
    modelProvider: '{{ .Values.model.provider | toJson }}',
    modelId: '{{ .Values.model.id | toJson }}',
    manifest: '{{ .Files.Get "files/agent.yaml" | toJson }}',
    sidecarImage: '{{ .Values.sidecar.image | quote }}',
    sidecarPullPolicy: '{{ .Values.sidecar.pullPolicy }}',
    sidecarResources: '{{- toYaml .Values.sidecar.resources | nindent INDENT }}',
    heap: '{{ .Values.sidecar.heapMebibytes }}',
    policyMode: '{{ .Values.sidecar.policyMode | quote }}',
    logLevel: '{{ .Values.sidecar.logLevel | quote }}',
  }) as const;

type Slot = keyof ReturnType<typeof expressionsOf>;

/** Marks a computed value. Names, paths and variables of a manifest contain no space, so none of them looks like a slot. */
export const slot = (name: Slot): string => `< ${name} >`;

/**
 * Replaces the slots by expressions. Everything else stays literal, also what looks like a template.
 * @param agentName prefix of the chart's helpers
 */
export function helmTemplate(yaml: string, agentName: string): string {
  const expressions = expressionsOf(agentName);
  return yaml
    .replaceAll('{{', '{{ "{{" }}')
    .split('\n')
    .map((line) => filled(line, expressions))
    .join('\n');
}

/** An item that is a slot becomes the items of a list, at the same indentation. */
function filled(line: string, expressions: Readonly<Record<Slot, string>>): string {
  const [, margin = '', dash = ''] = /^( *)(- )?/.exec(line) ?? [];
  const isItems = dash !== '' && /^< \w+ >$/.test(line.slice(margin.length + dash.length));
  const indent = margin.length + (isItems ? 0 : dash.length + 2);
  const text = isItems ? line.replace(dash, '') : line;
  return text.replaceAll(/< (\w+) >/g, (_, name: Slot) =>
    expressions[name].replace('INDENT', String(indent)),
  );
}
