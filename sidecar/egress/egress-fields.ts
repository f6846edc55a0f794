import { EGRESS_CONNECT_PORT, EGRESS_PORT } from '../../core/egress/ports.ts';
import { parseFailModes } from '../../core/egress/fail-modes.ts';
import { VENDOR_LANES } from '../../core/egress/lane-variables.ts';
import { parseLanes } from '../../core/egress/lanes.ts';
import { parseNotRewritten } from '../../core/egress/not-rewritten.ts';
import { POLICY_MODES } from '../../core/shapes/values.ts';
import {
  oneOf,
  optional,
  optionalOneOf,
  optionalText,
  port,
  withDefault,
  type Summaries,
} from '../../runtime/env.ts';

/** What happens with a forbidden tool call in a response. `fail`: the agent gets 403 instead of the response. */
const ON_FORBIDDEN_TOOL = ['strip', 'fail'] as const;
export type OnForbiddenTool = (typeof ON_FORBIDDEN_TOOL)[number];

const lanes = optional(
  'comma-separated lane=upstream, each lane once, such as openai=https://api.openai.com/v1',
  (raw) => {
    const parsed = parseLanes(raw);
    return 'problem' in parsed ? undefined : parsed.lanes;
  },
);

const notRewritten = optional(
  'lane=VARIABLE:reason separated by commas',
  (raw) => parseNotRewritten(raw) ?? undefined,
);

const failModes = withDefault(
  'open or closed, and lane=open or lane=closed, separated by commas',
  'open',
  (raw) => parseFailModes(raw) ?? undefined,
);

/** The variables of the lanes and of the census. */
export const EGRESS_FIELDS = {
  EGRESS_LANES: lanes,
  EGRESS_PORT: port(EGRESS_PORT),
  EGRESS_MODE: optionalOneOf(POLICY_MODES),
  EGRESS_FAIL_MODE: failModes,
  EGRESS_ON_FORBIDDEN_TOOL: oneOf(ON_FORBIDDEN_TOOL, 'strip'),
  EGRESS_CA_FILE: optionalText,
  EGRESS_NOT_REWRITTEN: notRewritten,
  EGRESS_CONNECT: oneOf(['off', 'log', 'deny'], 'off'),
  EGRESS_CONNECT_PORT: port(EGRESS_CONNECT_PORT),
  CENSUS: oneOf(['off', 'on'], 'off'),
};

const VENDORS_OF_LANES = Object.keys(VENDOR_LANES)
  .map((id) => `\`${id}\``)
  .join(', ');

export const EGRESS_SUMMARIES: Summaries<typeof EGRESS_FIELDS> = {
  EGRESS_LANES: `The egress lanes: comma-separated \`lane=upstream\`. Lanes: ${VENDORS_OF_LANES}, \`compatible:<name>\`, \`mcp:<name>\`. A path of the upstream is put in front. Unset: no lane, and EGRESS_PORT is closed. The injector sets it with the annotation platform.io/egress-lanes.`,
  EGRESS_PORT: 'The port of the egress lanes on 127.0.0.1 and ::1.',
  EGRESS_MODE:
    'The effect of a policy denial on a lane: `track` records it, `enforce` stops the call, `off` evaluates no policy. Unset: the value of POLICY_PROXY_MODE.',
  EGRESS_FAIL_MODE:
    'With EGRESS_MODE=enforce, what happens with a call of a known route that the policy engine cannot evaluate, or whose body cannot be read: `open` lets it pass, `closed` denies it with `policy_unavailable` or `body_unread`. `lane=open` or `lane=closed` is for one lane: `closed,mcp:files=open`.',
  EGRESS_ON_FORBIDDEN_TOOL:
    'With EGRESS_MODE=enforce, the effect of a forbidden tool call in the response of a model: `strip` removes the call, `fail` replaces the response by 403.',
  EGRESS_CA_FILE:
    'Path of a PEM file with CA certificates that verify the upstreams of the lanes, in addition to the CAs of Node.js. Read at start.',
  EGRESS_NOT_REWRITTEN:
    'The variables of the agent that the injector did not change, so that calls may bypass their lanes: comma-separated `lane=VARIABLE:reason`. Logged at start. Set by the injector.',
  EGRESS_CONNECT:
    'The lane for CONNECT requests, which the agent uses through HTTPS_PROXY. `log`: records the hosts. `deny`: rejects hosts that the manifest does not declare. Set by the injector from the annotation platform.io/egress-connect.',
  EGRESS_CONNECT_PORT: 'The port of that lane on 127.0.0.1 and ::1.',
  CENSUS:
    '`on`: lists the connections of all processes in the network namespace. Refused if the namespace is that of the machine. The injector sets `on`.',
};
