import { Problem } from '../runtime/problem.ts';

/** A Problem that passes: the client may repeat the request after some seconds. */
export function tryAgain(
  detail: string,
  seconds: number,
  { status = 503, cause }: { status?: 429 | 503; cause?: unknown } = {},
): Problem {
  return new Problem(status, detail, { headers: { 'retry-after': String(seconds) }, cause });
}
