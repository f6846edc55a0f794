import { NAMED_LANE_KINDS, VENDOR_LANES, type LaneId } from './lane-variables.ts';

/** A lane that an agent's annotation names. */
export interface NamedLane {
  id: LaneId;
  /** The variable with the address of the lane's upstream; null: the variables of the vendor. */
  variable: string | null;
}

const NAME = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?';
// Without backslashes: JavaScript, CEL and YAML read these patterns the same.
const VENDOR = Object.keys(VENDOR_LANES).join('|');
const NAMED = `(${NAMED_LANE_KINDS.join('|')}):${NAME}`;
const ENTRY = `(${VENDOR}|${NAMED}=[A-Za-z_][A-Za-z0-9_]{0,126})`;

/** The pattern of the id of a lane. */
export const LANE_ID = `(${VENDOR}|${NAMED})`;

/** The annotation: lanes separated by commas, such as `openai,compatible:corp=LLM_URL,mcp:files=FILES_MCP_URL`. */
export const LANES_ANNOTATION = new RegExp(`^${ENTRY}(, ?${ENTRY})*$`);

/** The lanes in a valid annotation, in its order. */
export function namedLanes(annotation: string): NamedLane[] {
  return annotation.split(/, ?/).map((entry) => {
    const [id = '', variable] = entry.split('=');
    return { id: id as LaneId, variable: variable ?? null };
  });
}

/** The lanes and variables that occur twice. */
export function repeatedIn(lanes: readonly NamedLane[]): string[] {
  const names = lanes.flatMap(({ id, variable }) => [
    `lane ${id}`,
    ...(variable === null ? [] : [`variable ${variable}`]),
  ]);
  return [...new Set(names.filter((name, index) => names.indexOf(name) < index))];
}
