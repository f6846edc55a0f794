import { cut } from '../core/untrusted/fields.ts';
import type { CompletionOptions, CompletionResult } from './provider.ts';

export interface Limits {
  /** Bytes of the text of a response. */
  responseBytes: number;
  /** Bytes of everything that the vendor sends for a response. */
  transferBytes: number;
  /** Milliseconds for a response, with all repetitions. */
  timeoutMs: number;
  /** Repetitions of a request after an error that may be temporary. */
  retries: number;
}

export const LIMITS: Limits = {
  responseBytes: 2 ** 20,
  transferBytes: 2 ** 25,
  timeoutMs: 600_000,
  retries: 2,
};

/** Ends an attempt. The message is the reason for the user. */
export class ResponseFailure extends Error {}

export interface AttemptSettings {
  /** Name of the vendor in reasons. */
  vendor: string;
  limits: Limits;
  /** Values that must not appear in a reason. */
  secrets: readonly string[];
  reasonOf: (error: unknown) => string;
}

const MAX_REASON = 400;
/** A shorter key, such as "ollama" for a server without keys, is a word that reasons may contain. */
const MIN_SECRET = 8;

/** Runs one request. Never rejects: an error, an interruption and the end of the time become a reason. */
export async function attempt(
  { vendor, limits, secrets, reasonOf }: AttemptSettings,
  { signal }: CompletionOptions,
  run: (signal: AbortSignal) => Promise<CompletionResult>,
): Promise<CompletionResult> {
  const interrupted: CompletionResult = { ok: false, reason: 'the request was interrupted' };
  if (signal.aborted) return interrupted;
  const late = AbortSignal.timeout(limits.timeoutMs);
  const result = await run(AbortSignal.any([signal, late])).catch((error: unknown): CompletionResult => ({
    ok: false,
    reason: reasonOf(error),
  }));
  if (result.ok) return result;
  if (signal.aborted) return interrupted;
  const reason = late.aborted
    ? `${vendor} did not complete the response within ${limits.timeoutMs / 1000} s`
    : presentable(result.reason, secrets);
  return { ok: false, reason };
}

/** One line without keys. Vendors repeat parts of a rejected key. */
function presentable(reason: string, secrets: readonly string[]): string {
  const long = secrets.filter((secret) => secret.length >= MIN_SECRET);
  const withoutSecrets = long.reduce((text, secret) => text.replaceAll(secret, '[key]'), reason);
  const line = withoutSecrets
    .replaceAll(/\bsk-[\w*.-]{4,}/g, '[key]')
    // oxlint-disable-next-line no-control-regex -- this replaces control characters
    .replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
  return line.length > MAX_REASON ? `${cut(line, MAX_REASON)}…` : line.trim();
}
