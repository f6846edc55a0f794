import type { Request, Response } from 'express';
import type { AuditHead } from '../../core/shapes/audit-log.ts';
import { EVENT_KINDS, OUTCOMES } from '../../core/shapes/values.ts';
import { isDnsLabel } from '../../core/injection/names.ts';
import { DNS_LABEL } from '../../core/shapes/common.ts';
import { jsonOf } from '../../core/untrusted/fields.ts';
import { listOf, ref } from '../../core/untrusted/json-schema.ts';
import { textBody } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { wantedNamespaces } from '../auth/authorize.ts';
import { callerOf } from '../auth/caller.ts';
import { principalOf } from '../auth/principal.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import { sentRowOf } from '../record/audit-row.ts';
import { queryRecorder } from '../record/record-queries.ts';
import type { AuditEventStore, AuditPosition } from '../stores/audit-events.ts';
import { AGENT_QUERY, AGENT_RESPONSES, findAgent, namespaceReader } from './find-agent.ts';
import { instant } from './history.ts';
import { integerIn, matching, nextPage, oneOf, readQuery, type QueryParameter } from './query.ts';
import { readRoute } from './read-route.ts';

const PATH = '/api/v1/audit-events';
const NDJSON = 'application/x-ndjson';
/** Bytes of a body, also after decompression. */
const MAX_BYTES = 256 * 1024;
const MAX_LINES = 500;
const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const MAX_HEADS = 10_000;
/** Characters of a searched value. */
const MAX_TEXT = 2_048;

const exactly = (description: string): QueryParameter<string> =>
  matching((raw) => raw !== '' && raw.length <= MAX_TEXT, {
    what: `a text of 1 to ${MAX_TEXT} characters`,
    schema: { minLength: 1, maxLength: MAX_TEXT },
    description,
  });

const RANGE = {
  since: instant('Only events from this time on, inclusive.'),
  until: instant('Only events before this time.'),
};

const EVENTS_QUERY = {
  agent: matching(isDnsLabel, {
    what: 'the name of an agent (a DNS label)',
    schema: { pattern: DNS_LABEL.source },
    description: 'Only events of the agents with this name.',
  }),
  namespace: { ...namespaceReader, description: 'Only events of this namespace.' },
  user: exactly('Only events of the person with this id, `actor.user.uid`.'),
  tool: exactly('Only events with this tool, whatever other tools they have.'),
  outcome: oneOf(OUTCOMES, 'Only events with this result of the policy.'),
  kind: oneOf(EVENT_KINDS, 'Only events of this kind.'),
  ...RANGE,
  limit: integerIn(1, MAX_LIMIT, `Events per page; default ${DEFAULT_LIMIT}.`),
  cursor: {
    read: parseCursor,
    schema: { type: 'string', pattern: '^[0-9]{1,16}-[0-9]{1,16}$' },
    description: 'Where the page starts: from the `Link` header of the previous page.',
  },
};

const HEADS_QUERY = {
  ...AGENT_QUERY,
  limit: integerIn(1, MAX_HEADS, `Maximum number of heads. Default: ${MAX_HEADS}.`),
};

function parseCursor(raw: string): AuditPosition | { error: string } {
  const [, at, id] = /^(\d{1,16})-(\d{1,16})$/.exec(raw) ?? [];
  return id === undefined ? { error: 'is not a valid cursor' } : { at: Number(at), id: Number(id) };
}

/** The lines of a body. Throws a 400 if there are none, or too many. */
function linesOf(body: string): string[] {
  const lines = body.split('\n');
  if (lines.at(-1) === '') lines.pop();
  if (lines.length === 0 || lines.length > MAX_LINES)
    throw new Problem(400, `the body must have 1 to ${MAX_LINES} lines; it has ${lines.length}`);
  return lines;
}

const NO_EVENTS = { 501: 'The Kubernetes store keeps no audit events.' } as const;

type Described = Pick<ControlPlaneRoute, 'summary' | 'operation'>;

const SEND: Described = {
  summary: `Body: lines of the audit log of the agent (NDJSON, also gzip), at most ${MAX_LINES} lines and 256 KiB, also after decompression. 204; a line whose \`metadata.uid\` is known changes nothing. 400 with the number of the first line that is not valid or is about another agent; then no line is stored. 501 with the Kubernetes store.`,
  operation: {
    id: 'sendAuditEvents',
    body: { description: 'One event per line.', type: 'string' },
    bodyType: NDJSON,
    responses: {
      204: 'All lines are stored.',
      400: 'A line is not valid, or is about another agent.',
      ...NO_EVENTS,
    },
  },
};

const LIST: Described = {
  summary: `\`[{class_uid, time, actor, metadata, unmapped, …}]\`, newest first: the audit events (OCSF 1.8.0) of the agents that the caller may read, and the admin actions and queries of events, which the control plane records. Query: \`?agent=\`, \`?namespace=\`, \`?user=\`, \`?tool=\`, \`?outcome=\`, \`?kind=\`, \`?since=\` and \`?until=\` (ISO 8601), \`?limit=\` (1..${MAX_LIMIT}, default ${DEFAULT_LIMIT}), \`?cursor=\`. \`Link: <…>; rel="next"\` if there is a next page. The query is an event itself, once in ten minutes for the same caller and filters. 501 with the Kubernetes store.`,
  operation: {
    id: 'listAuditEvents',
    query: EVENTS_QUERY,
    responses: {
      200: {
        description: 'The events, newest first.',
        schema: listOf(ref('AuditEvent')),
        headers: { Link: 'The next page (`rel="next"`); absent on the last page.' },
      },
      ...NO_EVENTS,
    },
  },
};

const HEADS: Described = {
  summary: `\`[{chain, sequence, head, at, written, dropped, failures, receivedAt}]\`, newest first: the last head of each chain of the audit log in each hour, as the heartbeats had it. Also of a deleted agent, with \`?namespace=\`. Query: \`?limit=\` (1..${MAX_HEADS}, default ${MAX_HEADS}). 501 with the Kubernetes store.`,
  operation: {
    id: 'listAuditHeads',
    query: HEADS_QUERY,
    responses: {
      200: { description: 'The heads, newest first.', schema: listOf(ref('AuditHead')) },
      ...AGENT_RESPONSES,
      ...NO_EVENTS,
    },
  },
};

/** Audit events of agents, and of this control plane itself. */
export function auditEventRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  const { receive, list, heads } = handlersOf(context);
  return [
    {
      ...{ method: 'POST', path: PATH, access: 'bearer', ...SEND },
      handlers: [textBody(MAX_BYTES, NDJSON), receive],
    },
    readRoute(PATH, { ...LIST, read: list }),
    readRoute('/api/v1/agents/:name/audit-heads', { ...HEADS, read: heads }),
  ];
}

/** Throws a 501 with the reason if the store keeps none. */
function requireEvents({ store }: ControlPlaneContext): AuditEventStore {
  if (store.auditEvents !== null) return store.auditEvents;
  throw new Problem(
    501,
    'the Kubernetes store keeps no audit events; set STORE=sqlite or STORE=postgres on the control plane',
  );
}

function handlersOf(context: ControlPlaneContext) {
  const { clock, metrics, access } = context;
  const received = metrics.counter('platform_control_plane_audit_events_total', 'Audit events by result.');
  const recordQuery = queryRecorder(context);
  return {
    receive: async (request: Request, response: Response): Promise<void> => {
      const events = requireEvents(context);
      const caller = callerOf(response);
      const lines = linesOf(request.body as string);
      const sender = { key: caller.key, isPod: caller.kind === 'pod' };
      const at = clock.now();
      const rows = lines.map((line, index) => {
        const read = sentRowOf(line, sender, at);
        if (read.ok) return read.row;
        received.add({ result: 'invalid' }, lines.length);
        throw new Problem(400, `line ${index + 1} ${read.error}`);
      });
      const added = await events.add(rows);
      received.add({ result: 'stored' }, added);
      received.add({ result: 'repeat' }, rows.length - added);
      response.status(204).end();
    },

    list: async (request: Request, response: Response): Promise<unknown[]> => {
      const events = requireEvents(context);
      const query = readQuery(request, EVENTS_QUERY);
      const { namespace, limit = DEFAULT_LIMIT, cursor: after = null, ...filters } = query;
      const namespaces = await wantedNamespaces(response, context, namespace);
      await recordQuery(request, response, { ...filters, ...(namespace !== undefined && { namespace }) });
      const page = await events.find({ ...filters, namespaces, limit, after });
      if (page.next !== null) {
        const next = { limit: String(limit), cursor: `${page.next.at}-${page.next.id}` };
        response.set('link', `<${nextPage(request, EVENTS_QUERY, next)}>; rel="next"`);
      }
      return page.lines.map(jsonOf);
    },

    /** The heads of a deleted agent are found by their namespace. */
    heads: async (request: Request, response: Response): Promise<AuditHead[]> => {
      const events = requireEvents(context);
      const { namespace, limit = MAX_HEADS } = readQuery(request, HEADS_QUERY);
      const name = request.params['name'] as string;
      const isReadable =
        namespace !== undefined &&
        isDnsLabel(name) &&
        (await access.can(principalOf(response), 'read', namespace));
      const kept = isReadable ? await events.heads({ namespace, name }, limit) : [];
      return kept.length > 0 ? kept : events.heads(await findAgent(request, response, context), limit);
    },
  };
}
