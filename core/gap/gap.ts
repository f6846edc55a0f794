import type { Issue } from '../shapes/gap.ts';

/** False for an issue of the LLM analysis, which must not change a score, a condition or a place in a list with a limit. */
export const isVerified = ({ source }: Pick<Issue, 'source'>): boolean => source !== 'llm';
