import { eventBatch } from '../core/shapes/events.ts';
import { openApiDocument, type Access } from '../core/openapi/document.ts';
import { TEXT, type JsonSchema } from '../core/untrusted/json-schema.ts';
import { COMMON_SCHEMAS } from '../core/openapi/schemas/common.ts';
import { SIDECAR_SCHEMAS } from '../core/openapi/schemas/sidecar.ts';
import { proofSubmission } from '../core/shapes/proof.ts';
import type { SidecarRoute } from './access.ts';

const ACCESS: Readonly<Record<SidecarRoute['access'], Access>> = {
  open: { security: [], responses: {} },
  local: { security: [], responses: { 403: 'With CONTROL_ACCESS=local: the client is not local.' } },
};

const DESCRIPTION =
  'The control port of a sidecar. There are no credentials: network access to the port is the trust boundary. With CONTROL_ACCESS=local, most operations accept only requests over loopback. Errors are `application/problem+json` (RFC 9457). An unknown path returns 404, and another method on a known path 405 with `Allow`. Every GET operation also supports HEAD. Members of request bodies that are not described are ignored.';

/** The groups of the routes, in the order of the document. `sidecarRoutes` assigns the routes. */
const TAGS = {
  Health: 'The state of the sidecar process, and the health of the agent.',
  Reports: 'The differences between manifest and reality, what is known of the agent, and its token usage.',
  Audit: 'The last requests with what was observed, and behavioral events of the agent.',
  Egress: 'The calls of the agent to models and MCP servers.',
  Proofs: 'Proofs of compliance rules: read, submit, withdraw.',
  Process: 'Metrics and this document.',
};
export type SidecarTag = keyof typeof TAGS;

/** The API of the control port. Loaded with the first request for it, because few sidecars ever need it. */
export function sidecarDocument(routes: readonly SidecarRoute[], version: string): JsonSchema {
  return openApiDocument({
    title: 'Agent Compliance sidecar',
    description: DESCRIPTION,
    version,
    servers: [
      { url: '/', description: 'The control port of the sidecar that serves this document.' },
      { url: '/platform', description: 'The same routes under a prefix.' },
    ],
    routes,
    access: ({ access }) => ACCESS[access as SidecarRoute['access']],
    tags: TAGS,
    pathParameters: {
      ruleId: { schema: TEXT, description: 'Id of a compliance rule, such as `SEC-LLM-01`.' },
    },
    schemas: {
      ...COMMON_SCHEMAS,
      ...SIDECAR_SCHEMAS,
      EventBatch: eventBatch.schema,
      ProofSubmission: proofSubmission.schema,
    },
  });
}
