import { stringify } from 'yaml';
import { agentPolicySpec, agentPolicyStatus } from '../core/shapes/agent-policy.ts';
import { agentStopSpec, agentStopStatus } from '../core/shapes/agent-stop.ts';
import { observationSpec, observationStatus } from '../core/shapes/observation.ts';
import { structural } from '../core/shapes/structural.ts';
import type { JsonSchema } from '../core/untrusted/json-schema.ts';

const COLUMNS = [
  { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
  // The first of the two that exists: a status of an earlier version has no oldGrade.
  { name: 'Grade', type: 'string', jsonPath: ".status['oldGrade','grade']" },
  { name: 'Score', type: 'integer', jsonPath: '.status.score' },
  { name: 'Tokens', type: 'integer', jsonPath: '.status.tokens' },
  { name: 'Checked', type: 'date', jsonPath: '.status.lastChecked' },
];

/** Columns of `-o wide`. */
const WIDE_COLUMNS = [
  { name: 'Stopped', type: 'string', jsonPath: ".status.conditions[?(@.type=='Stopped')].reason" },
  { name: 'Allowed', type: 'string', jsonPath: ".status.conditions[?(@.type=='Allowed')].status" },
  { name: 'Compliant', type: 'string', jsonPath: ".status.conditions[?(@.type=='Compliant')].status" },
  { name: 'Model', type: 'string', jsonPath: '.status.model.id' },
  { name: 'Violations', type: 'integer', jsonPath: '.status.violations' },
  { name: 'Mode', type: 'string', jsonPath: '.status.policyMode' },
  { name: 'Source', type: 'string', jsonPath: '.status.source' },
  { name: 'Evidence', type: 'integer', jsonPath: '.status.evidence.percent' },
  { name: 'Proved', type: 'integer', jsonPath: '.status.audit.proved' },
  { name: 'Instances', type: 'integer', jsonPath: '.status.instanceCount' },
  { name: 'Unlisted', type: 'integer', jsonPath: '.status.unlistedCount' },
];

const POLICY_COLUMNS = [
  { name: 'Agents', type: 'integer', jsonPath: '.status.agents' },
  { name: 'Broken', type: 'integer', jsonPath: '.status.broken' },
  { name: 'Accepted', type: 'string', jsonPath: ".status.conditions[?(@.type=='Accepted')].status" },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

const STOP_COLUMNS = [
  { name: 'Agents', type: 'string', jsonPath: '.spec.agents' },
  { name: 'Reason', type: 'string', jsonPath: '.spec.reason' },
  { name: 'By', type: 'string', jsonPath: '.spec.by' },
  { name: 'Until', type: 'string', jsonPath: '.spec.until' },
  { name: 'Stopped', type: 'integer', jsonPath: '.status.stopped' },
  { name: 'Pending', type: 'integer', jsonPath: '.status.pending' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
];

interface Kind {
  kind: string;
  plural: string;
  shortName: string;
  scope: 'Namespaced' | 'Cluster';
  description: string;
  /** Of the whole object. */
  validations?: object[];
  spec: JsonSchema;
  status: JsonSchema;
  columns: object[];
  selectable?: string[];
}

const KINDS = {
  agentobservations: {
    kind: 'AgentObservation',
    plural: 'agentobservations',
    shortName: 'ao',
    scope: 'Namespaced',
    description:
      'AgentObservation contains the observed state of one agent: the differences between its manifest and its behaviour, its health, and its usage. The operator creates one for every workload that opts in to the sidecar. The control plane creates one for every registered remote agent. Users do not need to create them.',
    validations: [
      {
        rule: "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$')",
        message: "the name must be the agent's name, a DNS label of at most 63 characters",
      },
    ],
    spec: observationSpec.returns,
    status: observationStatus.returns,
    columns: [...COLUMNS, ...WIDE_COLUMNS.map((column) => ({ ...column, priority: 1 }))],
    selectable: ['.status.phase', '.status.grade', '.spec.source'],
  },
  agentpolicies: {
    kind: 'AgentPolicy',
    plural: 'agentpolicies',
    shortName: 'agp',
    scope: 'Cluster',
    description:
      'AgentPolicy contains rules of the organisation: what the manifests of the agents in some namespaces may declare, and what these agents may do. The rules apply to manifests in CI, to writes of their ConfigMaps, to the start of pods, to running agents and to calls on egress lanes.',
    spec: agentPolicySpec.returns,
    status: agentPolicyStatus.returns,
    columns: POLICY_COLUMNS,
  },
  agentstops: {
    kind: 'AgentStop',
    plural: 'agentstops',
    shortName: 'agstop',
    scope: 'Namespaced',
    description:
      'AgentStop stops agents: their sidecars reject every request and every call through an egress lane, and end open connections. Creating it is the stop, deleting it is the resume. In the namespace of the release it applies to several namespaces, elsewhere to its own.',
    spec: agentStopSpec.returns,
    status: agentStopStatus.returns,
    columns: STOP_COLUMNS,
  },
} as const satisfies Record<string, Kind>;

function definitionOf(row: Kind): object {
  const { kind, plural, shortName, scope, description, validations, columns, selectable } = row;
  const schema = {
    description,
    type: 'object',
    required: ['spec'],
    ...(validations !== undefined && { 'x-kubernetes-validations': validations }),
    properties: {
      apiVersion: { description: 'platform.io/v1', type: 'string' },
      kind: { description: kind, type: 'string' },
      metadata: { type: 'object' },
      spec: structural(row.spec, 'spec'),
      status: structural(row.status, 'status'),
    },
  };
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    ...(selectable !== undefined && { selectableFields: selectable.map((jsonPath) => ({ jsonPath })) }),
    additionalPrinterColumns: columns,
    schema: { openAPIV3Schema: schema },
  };
  const names = {
    kind,
    listKind: `${kind}List`,
    plural,
    singular: kind.toLowerCase(),
    shortNames: [shortName],
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.platform.io` },
    spec: { group: 'platform.io', scope, names: { ...names, categories: ['platform'] }, versions: [version] },
  };
}

const HEADER = '# Generated by scripts/generate.ts from core/shapes/. Do not edit.\n';

/** `crds/*.yaml`. Kubernetes reads YAML 1.1, in which `off` is false. */
export function resourceDefinition(plural: keyof typeof KINDS): string {
  const options = { version: '1.1', lineWidth: 120, aliasDuplicateObjects: false } as const;
  return HEADER + stringify(definitionOf(KINDS[plural]), options);
}
