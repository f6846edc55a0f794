import { Problem } from '../../../runtime/problem.ts';

/**
 * The response while the database does not work.
 * @param cause logged with the request; left out if the failure is already in the log
 */
export function unavailable(cause?: unknown): Problem {
  return new Problem(503, 'the database is unavailable; try again', {
    headers: { 'retry-after': '2' },
    ...(cause === undefined ? {} : { cause }),
  });
}
