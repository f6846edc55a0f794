import * as z from 'zod';
import { FORMATS } from '../../core/manifest/schema-node.ts';
import { isRecord, own } from '../../core/untrusted/fields.ts';
import { quoted } from '../../core/untrusted/quoted.ts';
import { notFound, type Found } from '../admin-key.ts';
import { getJson, serverOf } from './request.ts';
import { targetOf, VARIABLES, type Target } from './target.ts';
import type { CallContext } from './tool.ts';

const url = (description: string) => z.string().max(2_048).optional().describe(description);
const label = (description: string) =>
  z
    .string()
    .regex(new RegExp(FORMATS.dnsLabel.pattern), `must be ${FORMATS.dnsLabel.wanted}`)
    .optional()
    .describe(description);

/** Arguments that select a control plane. */
export const controlPlaneInput = {
  controlPlaneUrl: url(
    `URL of a control plane (operator mode); overrides ${VARIABLES.controlPlaneUrl}. Omit it if the server is configured`,
  ),
  adminKey: z
    .string()
    .max(4_096)
    .optional()
    .describe(
      `Admin key of the control plane; overrides ${VARIABLES.adminKey}. Omit it if the server is configured; needed with another controlPlaneUrl`,
    ),
};

/** Arguments that select an agent. */
export const AGENT_INPUT = {
  sidecarUrl: url(
    `URL of the control port (4001) of a sidecar (sidecar mode); overrides ${VARIABLES.sidecarUrl}. Omit it if the server is configured`,
  ),
  ...controlPlaneInput,
  agentName: label('Name of the agent; required in operator mode, see list_agents'),
  namespace: label('Namespace of the agent, if several namespaces have the name; only in operator mode'),
  instance: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .describe('Pod or instance of the agent; absent: the worst one; only in operator mode'),
};

export type AgentInput = z.output<z.ZodObject<typeof AGENT_INPUT>>;

/** Where the data of one agent is. */
export interface Located {
  target: Target;
  /** Path in front of the routes about the agent. */
  prefix: string;
  query: Readonly<Record<string, string | undefined>>;
  /** For people and models: the server and the agent. */
  from: string;
}

/** Finds the target of a call about one agent. In sidecar mode, `agentName` must be the agent of the sidecar. */
export async function locate(input: AgentInput, { env, signal }: CallContext): Promise<Found<Located>> {
  const found = targetOf(input, env);
  if (!found.ok) return found;
  const target = found.value;
  const { agentName, namespace, instance } = input;
  if (target.mode === 'operator') {
    if (agentName === undefined)
      return notFound('agentName is required in operator mode; list_agents returns the names');
    const prefix = `/api/v1/agents/${encodeURIComponent(agentName)}`;
    const from = `${serverOf(target)}, agent ${agentName}`;
    return { ok: true, value: { target, prefix, query: { namespace, instance }, from } };
  }
  if (namespace !== undefined || instance !== undefined)
    return notFound('namespace and instance are only for operator mode: a sidecar has one agent');
  if (agentName !== undefined) {
    const refusal = await otherAgent(target, agentName, signal);
    if (refusal !== null) return notFound(refusal);
  }
  return { ok: true, value: { target, prefix: '', query: {}, from: serverOf(target) } };
}

/** Why the sidecar is not the one of the agent; null: it is. Its capability card has the name of the manifest. */
async function otherAgent(target: Target, agentName: string, signal: AbortSignal): Promise<string | null> {
  const card = await getJson(target, { path: '/capabilities' }, signal);
  if (!card.ok) return card.reason;
  const name = isRecord(card.value.value) ? own(card.value.value, 'name') : undefined;
  if (name === agentName) return null;
  return `${serverOf(target)} belongs to ${typeof name === 'string' ? `agent ${quoted(name)}` : 'an unknown agent'}, not to ${agentName}`;
}
