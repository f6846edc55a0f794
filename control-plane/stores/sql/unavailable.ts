import type { Problem } from '../../../runtime/problem.ts';
import { tryAgain } from '../../try-again.ts';

/**
 * The response while the database does not work.
 * @param cause logged with the request; left out if the failure is already in the log
 */
export function unavailable(cause?: unknown): Problem {
  return tryAgain('the database is unavailable; try again', 2, { cause });
}
