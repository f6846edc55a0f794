import { amount } from './common.ts';
import { integer } from './field.ts';

const MOST = 1e6;

/** Numbers of items that the manifest declares. */
export const evidenceSums = {
  shown: amount('Items with evidence; reported items count half.', MOST),
  declared: integer('All items.', { min: 0, limit: MOST }),
  reported: integer('Items that only the agent reports.', { min: 0, limit: MOST }),
};
