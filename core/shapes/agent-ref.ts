import { DNS_SUBDOMAIN } from './common.ts';
import { inCrd, text, type Field } from './field.ts';
import { object, type TypeOf } from './object.ts';

/** Maximum length and pattern of each member of `spec.agentRef`. */
export const AGENT_REF = {
  apiVersion: [317, /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?[/])?[a-z]([-a-z0-9]*[a-z0-9])?$/],
  kind: [63, /^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$/],
  name: [253, DNS_SUBDOMAIN],
} as const;

const part = (description: string, [maxLength, { source }]: readonly [number, RegExp]): Field<string> =>
  inCrd(text(description), { minLength: 1, maxLength, pattern: source });

export const agentRef = object(
  'The workload that runs the agent: the topmost owner of its pods. Present only for agents with a sidecar. Written by the operator, which reverts other changes.',
  {
    apiVersion: part('API version of the workload, such as apps/v1.', AGENT_REF.apiVersion),
    kind: part(
      'Kind of the workload, such as Deployment, StatefulSet, DaemonSet, Job, CronJob or Pod.',
      AGENT_REF.kind,
    ),
    name: part('Name of the workload, in the namespace of this object.', AGENT_REF.name),
  },
);

/** The workload of an agent with a sidecar. */
export interface AgentRef extends TypeOf<typeof agentRef> {}
