import { stopRequest } from '../../core/shapes/agent-stop.ts';
import { proofSubmission } from '../../core/shapes/proof.ts';
import { heartbeatBody } from '../../core/shapes/heartbeat.ts';
import { DNS_LABEL } from '../../core/shapes/common.ts';
import { openApiDocument, type Access, type DocumentedRoute } from '../../core/openapi/document.ts';
import { TEXT } from '../../core/untrusted/json-schema.ts';
import type { Operation } from '../../core/openapi/operation.ts';
import type { JsonSchema } from '../../core/untrusted/json-schema.ts';
import { SCHEMAS } from '../../core/openapi/schemas.ts';
import { conditional } from '../../runtime/conditional.ts';
import { VERSION } from '../../runtime/version.ts';
import { ABOUT } from '../auth/access/access.ts';
import type { PersonAccess } from '../auth/authorize.ts';
import { COOKIES } from '../auth/oidc/cookies.ts';
import { PERSON_AUDIENCE } from '../auth/kubernetes-tokens.ts';
import type { ControlPlaneRoute } from '../context.ts';
import { registrationBody } from '../../core/shapes/registration.ts';

/** `GET /openapi.json`. `routes`: the whole table, to which this row is added. */
export function openApiRoute(routes: readonly ControlPlaneRoute[]): ControlPlaneRoute {
  let document: JsonSchema | null = null;
  return {
    method: 'GET',
    path: '/openapi.json',
    access: 'open',
    summary: 'This API as an OpenAPI 3.1 document.',
    operation: {
      id: 'getApiDescription',
      headers: IF_NONE_MATCH,
      responses: { 200: { description: 'The document.', schema: 'OpenApiDocument' }, ...NOT_MODIFIED },
    },
    handlers: [
      conditional('no-cache'),
      (_request, response) => {
        document ??= controlPlaneDocument(routes, VERSION);
        response.json(document);
      },
    ],
  };
}

/** Whether the responses of the route have an ETag: JSON for persons and programs. */
export function isConditional({ method, access, operation }: DocumentedRoute): boolean {
  const ok = operation.responses[200];
  const isJson = typeof ok === 'object' && ok.schema !== undefined && ok.contentType === undefined;
  return method === 'GET' && access !== 'open' && access !== 'bearer' && isJson;
}

/** The groups of the routes, in the order of the document. `controlPlaneRoutes` assigns the routes. */
const TAGS = {
  Agents: 'The agents of the fleet: list, details, removal.',
  Reports: 'The last reports of one agent: gap, health, usage, behavior and egress.',
  Proofs: 'Proofs of compliance rules: read, submit, withdraw.',
  History: 'Scores, phases and usage of one agent or of the fleet over time. Requires a SQL store.',
  Organisation: 'The rules of the organisation, and the judgement of manifests.',
  Stops: 'Stops of agents: who stopped which agents, and why. Deleting a stop is the resume.',
  Fleet: 'All agents together: what is not seen of them, what each rule found, and changes as events.',
  'Audit events':
    'The audit events of agents, with their persons, and the heads of audit logs. Requires a SQL store.',
  'Admin actions': 'The log of requests of persons and programs that change something.',
  Callers: 'Who the caller of a request is, and what it may do.',
  Heartbeats: 'For sidecars and agents: registration, keys, heartbeats and directives.',
  'Sign-in': 'Sign-in of people with an OpenID Connect provider.',
  Dashboard: 'The web pages of the dashboard.',
  Process: 'The process itself: liveness, readiness, metrics and this document.',
};
export type ControlPlaneTag = keyof typeof TAGS;

/** The API of the control plane. */
export function controlPlaneDocument(routes: readonly ControlPlaneRoute[], version: string): JsonSchema {
  return openApiDocument({
    title: 'Agent Compliance control plane',
    description: DESCRIPTION,
    version,
    servers: [{ url: '/', description: 'The control plane that serves this document.' }],
    routes,
    access: accessOf,
    securitySchemes: SECURITY_SCHEMES,
    pathParameters: PATH_PARAMETERS,
    tags: TAGS,
    schemas: {
      ...SCHEMAS,
      Heartbeat: heartbeatBody.schema,
      ProofSubmission: proofSubmission.schema,
      Registration: registrationBody.schema,
      StopRequest: stopRequest.schema,
    },
  });
}

const DESCRIPTION =
  'The REST API of the fleet. Errors are `application/problem+json` (RFC 9457). An unknown path returns 404, and another method on a known path 405 with `Allow`. Every GET operation also supports HEAD. Responses to GET requests from 2 KiB are compressed if the client accepts it. Members of request bodies that are not described are ignored. A connection with too many unanswered requests gets 503, and a request that takes too long to arrive gets 408.';

const SECURITY_SCHEMES: Readonly<Record<string, JsonSchema>> = {
  adminKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Admin-Key',
    description: 'The admin key, or the read key, which can only read.',
  },
  personToken: {
    type: 'http',
    scheme: 'bearer',
    description: `An ID token or access token of the identity provider. In a cluster also a ServiceAccount token for the audience \`${PERSON_AUDIENCE}\`, as of \`kubectl create token\`.`,
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: COOKIES.session.name,
    description:
      'The session of the dashboard, after a sign-in with the identity provider. A request that changes something also needs `Sec-Fetch-Site: same-origin`, or `Origin` of the dashboard.',
  },
  agentKey: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The key from registration or, in a cluster, the projected ServiceAccount token of a pod (audience `platform.io`).',
  },
};

const PATH_PARAMETERS = {
  name: { schema: { ...TEXT, pattern: DNS_LABEL.source }, description: 'Name of the agent.' },
  namespace: {
    schema: { ...TEXT, pattern: DNS_LABEL.source },
    description: 'Namespace of the stop.',
  },
  stop: { schema: TEXT, description: 'Name of the stop.' },
  ruleId: { schema: TEXT, description: 'Id of a compliance rule, such as `SEC-LLM-01`.' },
};

const IF_NONE_MATCH: NonNullable<Operation['headers']> = {
  'If-None-Match': { schema: TEXT, description: 'ETags of earlier responses.' },
};
const NOT_MODIFIED: Operation['responses'] = {
  304: { description: 'An ETag in `If-None-Match` is current.', headers: { ETag: 'The current ETag.' } },
};

const UNAVAILABLE = 'The store is unavailable, or cannot answer in time.';

const ACCESS: Readonly<Record<'open' | 'bearer', Access>> = {
  open: { security: [], responses: {} },
  bearer: {
    security: ['agentKey'],
    responses: {
      401: {
        description: 'The key is missing, invalid, expired or revoked.',
        headers: { 'WWW-Authenticate': '`Bearer`' },
      },
      403: 'The token does not identify an agent.',
      429: 'Too many invalid tokens from this address.',
      503: `${UNAVAILABLE} Also: the API server cannot verify the token.`,
    },
  },
};

function personAccessOf(right: PersonAccess): Access {
  const needed = right === 'person' ? '' : ` Or the caller has no right to ${ABOUT[right]} there.`;
  return {
    security: ['adminKey', 'personToken', 'session'],
    responses: {
      401: {
        description: 'There is no credential, or the token or session is not valid or has expired.',
        headers: { 'WWW-Authenticate': '`X-Admin-Key` or `Bearer`' },
      },
      403: `The key is wrong, or it can only read; or a page of another site sent a request with a session.${needed}`,
      429: 'Too many invalid tokens from this address.',
      503: `${UNAVAILABLE} Also: no admin key is configured, or the API server cannot verify the caller or its rights.`,
    },
  };
}

function accessOf(route: DocumentedRoute): Access {
  const kind = route.access as ControlPlaneRoute['access'];
  const access = kind === 'open' || kind === 'bearer' ? ACCESS[kind] : personAccessOf(kind);
  if (!isConditional(route)) return access;
  return { ...access, headers: IF_NONE_MATCH, responses: { ...access.responses, ...NOT_MODIFIED } };
}
