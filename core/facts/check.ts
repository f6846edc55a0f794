import type { Check } from '../shapes/health.ts';

export const WORST_FIRST = ['fail', 'skip', 'pass'] as const satisfies Check['status'][];
export type CheckStatus = Check['status'];
