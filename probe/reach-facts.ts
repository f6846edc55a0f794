import type { CheckCategory } from '../core/shapes/values.ts';
import { parseAddress, type HostPort } from '../core/facts/address.ts';
import {
  modelCheckId,
  reachTargets,
  type DeclaredAddress,
  type ReachTarget,
} from '../core/facts/declared.ts';
import type { Facts, Reach } from '../core/facts/facts.ts';
import { categoryOf } from '../core/shapes/health.ts';
import type { Manifest } from '../core/manifest/manifest.ts';
import { createAddressGuard, type AddressGuard } from './address-guard.ts';
import { commandReach } from './command.ts';
import { mcpReach } from './mcp.ts';
import { modelReach } from './model.ts';
import { pingOf } from './ping-of.ts';
import { resolveReference, type ReferenceSources } from './references.ts';
import { TCP_TIMEOUT_MS, tcpReach } from './tcp-reach.ts';

/** Which targets of the manifest are probed, and how. */
export interface ReachInput {
  manifest: Manifest;
  /** Sources for the references in addresses. */
  sources: ReferenceSources;
  /** Whether the model's API is called, with the agent's own key. */
  checksModel?: boolean;
  /** Whether services and memory get a protocol-level ping, where one exists, instead of a TCP connection only. */
  pingsServices?: boolean;
  /** Categories of targets that are not probed. */
  skippedCategories?: readonly CheckCategory[];
  /** Ports of this process, which are not probed on this machine's own addresses. */
  ownPorts?: readonly number[];
  signal: AbortSignal;
}

/** One probe: its check id and its result. */
type Probe = Promise<readonly [string, Reach]>;

/** `facts.reach`: probes every declared target of the agent in parallel. Never rejects. */
export async function reachFacts(input: ReachInput): Promise<Facts['reach']> {
  const targets = reachTargets(input.manifest).filter(
    ({ id, address }) =>
      (address.known || (input.pingsServices === true && address.command !== undefined)) &&
      !input.skippedCategories?.includes(categoryOf(id) ?? 'service'),
  );
  const guard = createAddressGuard(input.ownPorts ?? []);
  const probes = targets.map(async (target): Probe => [target.id, await reachOf(target, input, guard)]);
  if (input.checksModel === true) probes.push(...modelProbes(input));
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
  if (to === null) return { state: 'unknown', reason: 'the address has no host and port' };
  return tcpReach(to.host, to.port, {
    timeoutMs: Math.min(timeoutMs ?? TCP_TIMEOUT_MS, TCP_TIMEOUT_MS),
    signal,
    guard,
    ping: input.pingsServices === true ? pingOf(resolved.value, type) : null,
  });
}

/** Checks the command without starting it. */
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
