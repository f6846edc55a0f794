import { quoted } from '../core/untrusted/quoted.ts';
import type { Environment } from '../runtime/env.ts';
import { checkAnthropic } from './anthropic.ts';
import { CLAUDE } from './claude-cli.ts';
import { CODEX } from './codex-cli.ts';
import { checkCompatible, checkOpenai } from './openai.ts';
import { PROVIDERS, type Provider, type ProviderName, type Readiness } from './provider.ts';
import { checkSubscription } from './subscription.ts';

const CHECKS: Readonly<Record<ProviderName, (env: Environment) => Readiness | Promise<Readiness>>> = {
  'claude-subscription': (env) => checkSubscription(CLAUDE, env),
  'codex-subscription': (env) => checkSubscription(CODEX, env),
  'anthropic-api': checkAnthropic,
  'openai-api': checkOpenai,
  'openai-compatible': checkCompatible,
};

export type Selection = { ok: true; provider: Provider } | { ok: false; reason: string };

const VARIABLE = 'PLATFORM_CODEGEN_PROVIDER: ';

/**
 * The provider to use: `forced`, else the one of PLATFORM_CODEGEN_PROVIDER, else the first one of PROVIDERS that is ready. Makes
 * no request to a model.
 */
export async function selectProvider(env: Environment, forced?: string): Promise<Selection> {
  const wanted = forced ?? forcedBy(env);
  if (wanted !== null) {
    const name = PROVIDERS.find((each) => each === wanted);
    const readiness = name === undefined ? null : await CHECKS[name](env);
    return selectionOf(wanted, readiness, forced === undefined ? VARIABLE : '');
  }
  const missing: string[] = [];
  for (const name of PROVIDERS) {
    const readiness = await CHECKS[name](env);
    if (readiness.ready) return { ok: true, provider: readiness.provider };
    missing.push(`\n  ${name}: ${readiness.reason}. ${readiness.remedy}`);
  }
  return { ok: false, reason: `no LLM provider is ready; set up one of these:${missing.join('')}` };
}

export type ProviderStatus = { name: ProviderName } & Readiness;

export interface ProviderOverview {
  /** Every provider, in the order of the selection. */
  statuses: ProviderStatus[];
  selected: ProviderName | null;
  /** Why the provider of PLATFORM_CODEGEN_PROVIDER cannot be used; null: it can, or the variable is not set. */
  problem: string | null;
}

/** Checks every provider. Makes no request to a model. */
export async function providerOverview(env: Environment): Promise<ProviderOverview> {
  const statuses = await Promise.all(
    PROVIDERS.map(async (name): Promise<ProviderStatus> => ({ name, ...(await CHECKS[name](env)) })),
  );
  const wanted = forcedBy(env);
  if (wanted === null)
    return { statuses, selected: statuses.find(({ ready }) => ready)?.name ?? null, problem: null };
  const found = statuses.find(({ name }) => name === wanted) ?? null;
  const selection = selectionOf(wanted, found, VARIABLE);
  return selection.ok
    ? { statuses, selected: selection.provider.name, problem: null }
    : { statuses, selected: null, problem: selection.reason };
}

/** The value of PLATFORM_CODEGEN_PROVIDER; null: unset or empty. */
function forcedBy({ PLATFORM_CODEGEN_PROVIDER: name = '' }: Environment): string | null {
  return name === '' ? null : name;
}

/** @param readiness null: the provider is unknown. @param source start of the reason of a failure. */
function selectionOf(wanted: string, readiness: Readiness | null, source: string): Selection {
  if (readiness === null)
    return {
      ok: false,
      reason: `${source}${quoted(wanted)} is not an LLM provider; accepted: ${PROVIDERS.join(', ')}`,
    };
  return readiness.ready
    ? { ok: true, provider: readiness.provider }
    : { ok: false, reason: `${source}${wanted} is not ready: ${readiness.reason}. ${readiness.remedy}` };
}
