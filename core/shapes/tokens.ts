import { integer, type Field } from './field.ts';

/** Upper limit for one call. A larger number is invalid and would distort all sums. */
export const MAX_TOKENS = 1e9;

/** Tokens of one call. */
export const tokenCount = (description: string): Field<number> =>
  integer(description, { min: 0, limit: MAX_TOKENS });
