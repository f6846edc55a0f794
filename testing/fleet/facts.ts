import type { Facts } from '../../core/facts/facts.ts';
import type { Manifest, ManifestSpec } from '../../core/manifest/manifest.ts';

export const NOON = new Date('2026-03-01T12:00:00.000Z');

/** A small valid manifest of the agent `shop`. */
export function aManifest(spec: Partial<ManifestSpec> = {}): Manifest {
  return {
    apiVersion: 'platform.io/v1',
    kind: 'PlatformAgent',
    metadata: { name: 'shop', version: '1.0.0', description: 'Sells things' },
    spec: { model: { provider: 'openai', id: 'gpt-4o', apiKey: 'literal' }, ...spec },
  };
}

/** The facts of an agent whose two endpoints respond, in manifest-static mode, without other facts. */
export function someFacts(overrides: Partial<Facts> = {}): Facts {
  return {
    at: NOON,
    agentReport: null,
    invalidReport: null,
    upstream: { state: 'reachable', latencyMs: 1 },
    health: { answered: true, status: 200, latencyMs: 2 },
    capabilities: { answered: true, status: 200, latencyMs: 3, tools: null },
    environment: { kind: 'own', names: new Set() },
    secrets: { backend: 'none' },
    files: new Map(),
    reach: new Map(),
    behavior: { sampled: 0, guardrailsInvoked: new Map() },
    policy: { state: 'none' },
    proofs: [],
    podAgentName: null,
    manifestInvalid: null,
    ...overrides,
  };
}
