import type { Request } from 'express';
import { Problem } from '../../runtime/problem.ts';

/** The parsed JSON body; 415 where there was none of a JSON content type. */
export function bodyOf(request: Request): unknown {
  const body: unknown = request.body;
  if (body === undefined)
    throw new Problem(415, 'this route needs a JSON body with Content-Type: application/json');
  return body;
}
