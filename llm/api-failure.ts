import { describeError } from '../core/untrusted/describe-error.ts';
import { isRecord } from '../core/untrusted/fields.ts';
import { reasonOf } from '../probe/reason.ts';
import type { Secret } from '../runtime/secret.ts';
import { ResponseFailure, type AttemptSettings, type Limits } from './attempt.ts';
import { boundedFetch } from './bounded-fetch.ts';

/** How the request of an SDK is attempted. @param keyName the variable with the key */
export function apiAttempt({
  key,
  limits,
  ...about
}: {
  vendor: string;
  keyName: string;
  key: Secret;
  limits: Limits;
}): AttemptSettings {
  const reasonOf = (error: unknown): string => apiFailure(error, about);
  return { vendor: about.vendor, limits, secrets: [key.reveal()], reasonOf };
}

/** The options that the clients of both SDKs have. */
export const clientOptions = (key: Secret, { transferBytes, retries, timeoutMs }: Limits) => ({
  apiKey: key.reveal(),
  fetch: boundedFetch(transferBytes),
  maxRetries: retries,
  timeout: timeoutMs,
  logLevel: 'off' as const,
});

/** Why a request through an SDK failed. */
function apiFailure(error: unknown, { vendor, keyName }: { vendor: string; keyName: string }): string {
  if (error instanceof ResponseFailure) return error.message;
  const status = statusOf(error);
  if (status === 401) return `${vendor} rejected the key in ${keyName} (status 401)`;
  const message = isRecord(error) ? messageIn(error['error']) : null;
  const details = message === null ? '' : `: ${message}`;
  if (status !== null) return `${vendor} responded with status ${status}${details}`;
  if (message !== null) return `${vendor} reported an error${details}`;
  const cause = causeOf(error);
  if (cause !== error) return `the connection to ${vendor} failed: ${reasonOf(cause)}`;
  // An SDK or the reader of its events met a value of another type.
  const isMalformed = isRecord(error) && ['SyntaxError', 'TypeError'].includes(String(error['name']));
  return isMalformed ? `the response of ${vendor} is not valid` : describeError(error);
}

/** Whether the vendor does not accept a request with these members. Such a request costs nothing. */
function isRejectedRequest(error: unknown): boolean {
  return [400, 422].includes(statusOf(error) ?? 0);
}

function statusOf(error: unknown): number | null {
  const status = isRecord(error) ? error['status'] : null;
  return typeof status === 'number' ? status : null;
}

/** The message in the body of an error: Anthropic wraps it in another object. */
function messageIn(body: unknown): string | null {
  if (typeof body === 'string' && body !== '') return body;
  if (!isRecord(body)) return null;
  const { message } = isRecord(body['error']) ? body['error'] : body;
  return typeof message === 'string' ? message : null;
}

/** The first error of a chain of causes. */
function causeOf(error: unknown): unknown {
  return isRecord(error) && error['cause'] !== undefined ? causeOf(error['cause']) : error;
}

/**
 * Sends a request in a form that the endpoint accepts, and remembers the form: while the endpoint rejects the request, `weaker`
 * gives the next form to try, or null.
 */
export async function inAcceptedForm<F, T>(
  memory: { form: F },
  weaker: (form: F, error: unknown) => F | null,
  send: (form: F) => Promise<T>,
): Promise<T> {
  let { form } = memory;
  for (;;) {
    try {
      const result = await send(form);
      memory.form = form;
      return result;
    } catch (error) {
      const next = isRejectedRequest(error) ? weaker(form, error) : null;
      if (next === null) throw error;
      form = next;
    }
  }
}
