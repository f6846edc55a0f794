import { AGENT_TOOLS } from './agent-tools.ts';
import { MANIFEST_TOOLS } from './manifest-tools.ts';
import type { Tool } from './tool.ts';

/** The table of tools, in the order of their list. */
const TOOLS: readonly Tool[] = [...AGENT_TOOLS, ...MANIFEST_TOOLS];

/** Tools that change something are offered only on request. */
export function offeredTools(allowWrites: boolean): Tool[] {
  return TOOLS.filter(({ isWrite }) => allowWrites || !isWrite);
}
