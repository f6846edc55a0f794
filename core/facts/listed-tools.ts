import { cut, isRecord, own } from '../untrusted/fields.ts';

const MAX_TOOLS = 1000;
const MAX_NAME = 500;

/**
 * The tools that an agent's `/capabilities` lists: `tools[].name`, `tools[]` strings, or the `skills[].id` of an A2A
 * card. null: the response has no list; an empty list is valid.
 */
export function listedTools(capabilities: unknown): string[] | null {
  if (!isRecord(capabilities)) return null;
  const tools = own(capabilities, 'tools');
  const skills = own(capabilities, 'skills');
  if (!Array.isArray(tools) && !Array.isArray(skills)) return null;
  return [...namesIn(tools, 'name'), ...namesIn(skills, 'id')];
}

function namesIn(list: unknown, key: 'name' | 'id'): string[] {
  if (!Array.isArray(list)) return [];
  const names = (list as unknown[])
    .slice(0, MAX_TOOLS)
    .map((item) => (isRecord(item) ? own(item, key) : item));
  return names.filter((name) => typeof name === 'string').map((name) => cut(name, MAX_NAME));
}
