import { parseAddress, type HostPort } from '../core/facts/address.ts';
import {
  modelCheckId,
  reachTargets,
  type DeclaredAddress,
  type ReachTarget,
} from '../core/facts/declared.ts';
import type { Facts, Reach } from '../core/facts/facts.ts';
import type { CheckCategory } from '../core/health/health.ts';
import { categoryOf } from '../core/health/summarize.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { createAddressGuard, type AddressGuard } from './address-guard.ts';
import { commandReach } from './command.ts';
import { mcpReach } from './mcp.ts';
import { modelReach } from './model.ts';
import { pingOf } from './ping-of.ts';
import { resolveReference, type ReferenceSources } from './references.ts';
import { TCP_TIMEOUT_MS, tcpReach } from './tcp-reach.ts';

/** What of the manifest is connected to, and how. */
export interface ReachInput {
  manifest: Manifest;
  /** Where the references in addresses are looked up. */
  sources: ReferenceSources;
  /** Whether the model's API is asked, with the agent's own key. */
  asksModel?: boolean;
  /** Whether services and memory are asked in their own protocol, where there is one, and not only connected to. */
  speaksProtocols?: boolean;
  /** Kinds of targets that are not connected to. */
  leaveOut?: readonly CheckCategory[];
  /** Ports of this process, which are not asked on this machine's own addresses. */
  ownPorts?: readonly number[];
  signal: AbortSignal;
}

/** One probe: its check id and what it found. */
type Probe = Promise<readonly [string, Reach]>;

/** `facts.reach`: everything that the manifest says the agent connects to, asked in parallel. Never rejects. */
export async function reachFacts(input: ReachInput): Promise<Facts['reach']> {
  const targets = reachTargets(input.manifest).filter(
    ({ id, address }) =>
      (address.known || (input.speaksProtocols === true && address.command !== undefined)) &&
      !input.leaveOut?.includes(categoryOf(id) ?? 'service'),
  );
  const guard = createAddressGuard(input.ownPorts ?? []);
  const probes = targets.map(async (target): Probe => [target.id, await reachOf(target, input, guard)]);
  if (input.asksModel === true) probes.push(...modelProbes(input));
  return new Map(await Promise.all(probes));
}

function modelProbes({ manifest, sources, signal }: ReachInput): Probe[] {
  const { model } = manifest.spec;
  return (model.fallback ? [model, model.fallback] : [model]).map(async (each): Probe => [
    modelCheckId(each),
    await modelReach({ model: each, sources, signal }),
  ]);
}

async function reachOf({ id, address }: ReachTarget, input: ReachInput, guard: AddressGuard): Promise<Reach> {
  const { sources, signal } = input;
  if (!address.known) return startOf(address, sources);
  const { value, port, type, timeoutSeconds, transport } = address;
  const resolved = await resolveReference(value, sources);
  if (!resolved.ok) return { state: 'unknown', reason: resolved.reason };
  const timeoutMs = timeoutSeconds === undefined ? undefined : timeoutSeconds * 1000;
  if (categoryOf(id) === 'mcp') {
    const where = port === undefined ? { url: resolved.value } : { host: resolved.value, port };
    return mcpReach({ address: where, transport, timeoutMs, signal, guard });
  }
  const to: HostPort | null =
    port === undefined ? parseAddress(resolved.value, type) : { host: resolved.value, port };
  if (to === null) return { state: 'unknown', reason: 'its address names no host and port' };
  return tcpReach(to.host, to.port, {
    timeoutMs: Math.min(timeoutMs ?? TCP_TIMEOUT_MS, TCP_TIMEOUT_MS),
    signal,
    guard,
    ping: input.speaksProtocols === true ? pingOf(resolved.value, type) : null,
  });
}

/** Nothing is started; only the process that would start it knows whether it could. */
async function startOf(
  address: DeclaredAddress & { known: false },
  sources: ReferenceSources,
): Promise<Reach> {
  const { command, reason } = address;
  if (command === undefined) return { state: 'unknown', reason };
  const resolved = await resolveReference(command, sources);
  if (!resolved.ok) return { state: 'unknown', reason: resolved.reason };
  return commandReach(resolved.value, sources.env?.['PATH']);
}
