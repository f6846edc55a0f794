import type { GeneratedFile } from '../scaffold/generated-file.ts';
import { chartReadme } from './helm-readme.ts';
import { helmTemplate, slot } from './helm-template.ts';
import { valueRows, valuesFile, valuesSchemaFile } from './helm-values.ts';
import { deploymentComments, SERVICE_COMMENTS } from './k8s-files.ts';
import { NAME_LABEL } from '../../core/injection/names.ts';
import {
  AGENT,
  configMap,
  deployment,
  manifestConfigMap,
  POD,
  service,
  SIDECAR,
  variableIn,
  type Deployment,
} from './objects.ts';
import { objectNames, type DeployPlan, type ObjectNames } from './plan.ts';
import { yamlText, type YamlChanges } from './yaml-text.ts';

type Values = NonNullable<YamlChanges['values']>;
type Comments = NonNullable<YamlChanges['comments']>;

/** The labels and the selector are those of the chart's helpers. */
const LABELS = [['metadata', 'labels'], slot('labels')] as const;

/** A chart with the same objects as `k8sFiles`; the Secret is created by its user. */
export function helmFiles(plan: DeployPlan): GeneratedFile[] {
  const base = slot('base');
  const names = { ...objectNames(base), workload: slot('name'), secrets: slot('secretName') };
  const workload = deployment(plan, names);
  const { initContainers, containers } = workload.spec.template.spec;
  const rows = valueRows(plan, containers[0], initContainers[0]);
  return [
    chartFile(plan),
    valuesFile(rows),
    valuesSchemaFile(rows),
    { path: 'helm/README.md', content: chartReadme(plan, rows) },
    { path: 'helm/files/agent.yaml', content: plan.manifestText },
    { path: 'helm/templates/_helpers.tpl', content: helpers(plan.agentName) },
    { path: 'helm/templates/NOTES.txt', content: notes(plan.agentName) },
    ...templates(plan, names, workload),
  ];
}

function templates(plan: DeployPlan, names: ObjectNames, workload: Deployment): GeneratedFile[] {
  const template = (name: string, value: object, values: Values, comments: Comments = []) => ({
    path: `helm/templates/${name}`,
    content: helmTemplate(yamlText(value, { comments, values: [LABELS, ...values] }), plan.agentName),
  });
  const model: Values = [
    [['data', 'MODEL_PROVIDER'], slot('modelProvider')],
    [['data', 'MODEL_ID'], slot('modelId')],
  ];
  const manifest: Values = [[['data', 'agent.yaml'], slot('manifest')]];
  const selector: Values = [[['spec', 'selector'], slot('selector')]];
  return [
    template('deployment.yaml', workload, deploymentValues(workload), deploymentComments(workload)),
    template('service.yaml', service(plan, names), selector, SERVICE_COMMENTS),
    template('configmap.yaml', configMap(plan, names), model),
    template('manifest-configmap.yaml', manifestConfigMap(plan, names), manifest),
  ];
}

function deploymentValues(workload: Deployment): Values {
  const { initContainers, containers } = workload.spec.template.spec;
  const [sidecar] = initContainers;
  const variable = (name: string) => [...SIDECAR, 'env', variableIn(sidecar, name), 'value'];
  const valueOf = (name: string) => sidecar.env?.[variableIn(sidecar, name)]?.value ?? '';
  return [
    [['spec', 'replicas'], slot('replicas')],
    [['spec', 'selector', 'matchLabels'], slot('selector')],
    [['spec', 'template', 'metadata', 'labels'], slot('podLabels')],
    [['spec', 'template', 'metadata', 'annotations'], slot('podAnnotations')],
    [[...SIDECAR, 'image'], slot('sidecarImage')],
    [[...SIDECAR, 'imagePullPolicy'], slot('sidecarPullPolicy')],
    [[...SIDECAR, 'resources'], slot('sidecarResources')],
    [variable('POLICY_PROXY_MODE'), slot('policyMode')],
    [variable('LOG_LEVEL'), slot('logLevel')],
    [variable('AGENT_ENV_NAMES'), `${valueOf('AGENT_ENV_NAMES')}${slot('envNames')}`],
    [variable('NODE_OPTIONS'), valueOf('NODE_OPTIONS').replace(/(old-space-size=)\d+/, `$1${slot('heap')}`)],
    [[...AGENT, 'image'], slot('image')],
    [[...AGENT, 'imagePullPolicy'], slot('pullPolicy')],
    [[...AGENT, 'resources'], slot('resources')],
    [[...AGENT, 'env', containers[0].env?.length ?? 0], slot('env')],
    [[...POD, 'imagePullSecrets'], slot('pullSecrets')],
    [[...POD, 'nodeSelector'], slot('nodeSelector')],
    [[...POD, 'tolerations'], slot('tolerations')],
    [[...POD, 'affinity'], slot('affinity')],
  ];
}

function chartFile({ agentName, version, description }: DeployPlan): GeneratedFile {
  const chart = {
    apiVersion: 'v2',
    name: agentName,
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.33.0-0',
  };
  const heading = 'Generated from the manifest of the agent by "platform generate".';
  return { path: 'helm/Chart.yaml', content: yamlText(chart, { heading }) };
}

const helpers = (name: string): string => `\
{{/* Name of the objects: the release, and the chart unless included. A Service name begins with a letter. */}}
{{- define "${name}.fullname" -}}
{{- $both := printf "%s-%s" .Release.Name .Chart.Name -}}
{{- $name := .Values.fullnameOverride | default (contains .Chart.Name .Release.Name | ternary .Release.Name $both) -}}
{{- if regexMatch "^[0-9]" $name }}{{ $name = printf "agent-%s" $name }}{{ end -}}
{{- $name | trunc 63 | trimAll "-" -}}
{{- end -}}

{{/* Secret with the variables of the agent. */}}
{{- define "${name}.secretName" -}}
{{- .Values.secretName | default (printf "%s-secrets" (include "${name}.fullname" .)) -}}
{{- end -}}

{{/* Image of the agent. */}}
{{- define "${name}.image" -}}
{{- $repository := required "set image.repository to the image of the agent" .Values.image.repository -}}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion | replace "+" "_") -}}
{{- end -}}

{{/* Labels of every object. */}}
{{- define "${name}.labels" -}}
{{ include "${name}.selectorLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimAll "-._" | quote }}
{{- end -}}

{{/* Labels by which the Service and the Deployment select pods. */}}
{{- define "${name}.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* Labels of the pods. The network policy of "platform generate-egress" selects the last one. */}}
{{- define "${name}.podLabels" -}}
{{ include "${name}.selectorLabels" . }}
${NAME_LABEL}: {{ .Chart.Name | quote }}
{{- end -}}
`;

const notes = (name: string): string => `\
The agent is reachable through its sidecar at {{ include "${name}.fullname" . }}.{{ .Release.Namespace }}:4000.

Read the gap report:

  kubectl -n {{ .Release.Namespace }} port-forward service/{{ include "${name}.fullname" . }} 4001
  curl -s localhost:4001/gap
`;
