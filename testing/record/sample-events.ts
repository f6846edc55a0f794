import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import type { EgressCall } from '../../core/shapes/egress-call.ts';
import type { RecordEvent, RecordSource } from '../../core/record/record-event.ts';

export const SAMPLE_SOURCE: RecordSource = {
  namespace: 'retail',
  agent: 'shop',
  instance: 'shop-1',
  startedAt: Date.parse('2026-03-01T11:00:00Z'),
  version: '1.0.0',
};

const AT = Date.parse('2026-03-01T12:00:01Z');
const identity = { source: 'jwt', user: 'auth0|5f7c', session: 's-3f9a1c2b7d5e6f80' } as const;
const entry: AuditEntry = {
  ...{
    seq: 1,
    requestId: 'request-1',
    timestamp: '2026-03-01T12:00:00.000Z',
    method: 'POST',
    path: '/v1/chat',
  },
  ...{ bytesIn: 10, bytesOut: 20, statusCode: 200, upstreamStatusCode: 200, durationMs: 612.4 },
  ...{ address: '10.1.2.3', outcome: 'allow', identity },
};
const { address: _address, ...withoutAddress } = entry;
const call: Omit<EgressCall, 'at'> = {
  ...{ id: 1, lane: 'openai', method: 'POST', path: '/v1/chat/completions', model: 'gpt-4o', stream: false },
  ...{
    toolsOffered: ['read_file'],
    toolsCalled: ['read_file'],
    toolsExecuted: [],
    usage: null,
    statusCode: 200,
  },
  ...{ durationMs: 80, violations: [], blocked: false, outcome: 'allow', requestId: 'request-1' },
};
const usage = {
  ...{ promptTokens: 12, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 5, reasoningTokens: 0 },
};

/** One event of each kind and outcome, by name. */
export function sampleEvents() {
  return {
    started: { kind: 'lifecycle', state: 'started', at: AT },
    request: { kind: 'request', entry },
    reportedRequest: {
      kind: 'request',
      entry: {
        ...{ ...withoutAddress, toolsCalled: ['read_file'], userConfirmed: true },
        guardrailsInvoked: ['pii-detector'],
      },
    },
    requestOfNobody: {
      kind: 'request',
      entry: { ...entry, method: 'GET', identity: { source: 'none', reason: 'no-token' } },
    },
    deniedWithoutIdentity: {
      kind: 'request',
      entry: {
        ...{ ...entry, identity: { source: 'none' }, outcome: 'deny', blocked: true, statusCode: 403 },
        policyViolations: ['pii_detector_not_invoked'],
      },
    },
    failOpen: { kind: 'request', entry: { ...entry, outcome: 'failOpen' } },
    notEvaluated: { kind: 'request', entry: { ...entry, outcome: 'notEvaluated', aborted: true } },
    modelCall: {
      kind: 'call',
      call: { ...call, usage, toolsExecuted: ['search'], otherModels: ['gpt-4o-mini'] },
      at: AT,
      request: entry,
    },
    longCall: {
      kind: 'call',
      call: { ...call, toolsOffered: Array.from({ length: 500 }, (_, index) => `generated_tool_${index}`) },
      at: AT,
      request: entry,
    },
    undeclaredTool: {
      kind: 'call',
      call: { ...call, toolsCalled: ['wipe_disk'], outcome: 'deny', violations: ['tool_not_declared'] },
      at: AT,
      request: entry,
    },
    toolCall: {
      kind: 'call',
      call: { ...call, lane: 'mcp:files', path: '/mcp', model: null },
      at: AT,
      request: entry,
    },
    listedTools: {
      kind: 'call',
      call: { ...call, lane: 'mcp:files', path: '/mcp', model: null, toolsCalled: [] },
      at: AT,
      request: entry,
    },
    destructiveBlocked: {
      kind: 'call',
      call: {
        ...{
          ...call,
          lane: 'mcp:files',
          path: '/mcp',
          model: null,
          toolsCalled: ['delete_file'],
          outcome: 'deny',
        },
        ...{ blocked: true, violations: ['destructive_tool_without_confirmation'] },
      },
      at: AT,
      request: entry,
    },
    tunnel: {
      kind: 'call',
      call: {
        ...call,
        lane: 'connect',
        method: 'CONNECT',
        path: 'api.example.com:443',
        toolsOffered: [],
        toolsCalled: [],
      },
      at: AT,
      request: entry,
    },
    tunnelToAddress: {
      kind: 'call',
      call: {
        ...{ ...call, lane: 'connect', method: 'CONNECT', path: '[2001:db8::1]:443', statusCode: null },
        ...{ model: null, toolsOffered: [], toolsCalled: [], outcome: 'deny', blocked: true },
        violations: ['host_not_declared'],
      },
      at: AT,
      request: entry,
    },
    findingOpened: {
      kind: 'finding',
      issue: {
        severity: 'high',
        property: 'model.apiKey',
        description: 'The key is \u2028 "written" out.',
        recommendation: 'Use $secret:.',
      },
      state: 'opened',
      at: AT,
    },
    findingClosed: {
      kind: 'finding',
      issue: { severity: 'low', property: 'egress.unseen', description: 'Unseen.', recommendation: '' },
      state: 'closed',
      at: AT,
    },
    adminAction: {
      kind: 'admin',
      action: {
        ...{
          action: 'deleteAgent',
          address: '10.0.0.9',
          agentName: 'shop',
        },
        ...{ namespace: 'retail', ruleId: null, status: 204 },
        actor: { method: 'oidc', iss: 'https://login.example.com/', sub: 'alice', name: 'Alice' },
      },
      at: AT,
    },
    query: {
      kind: 'admin',
      action: {
        ...{ action: 'listAuditEvents', address: 'unknown', agentName: null, namespace: null, ruleId: null },
        ...{ status: 200, actor: { method: 'read-key' } },
      },
      query: {
        ...{ agent: 'shop', namespace: 'retail', user: 'auth0|5f7c', tool: 'read_file', outcome: 'deny' },
        ...{ kind: 'tool', since: '2026-03-01T00:00:00.000Z', until: '2026-03-02T00:00:00.000Z' },
      },
      at: AT,
    },
    stopByPerson: {
      kind: 'admin',
      action: {
        ...{ action: 'createStop', address: '10.0.0.9', agentName: null, namespace: 'retail', ruleId: null },
        ...{ status: 201, actor: { method: 'oidc', sub: 'alice' } },
      },
      comment: 'leak of data',
      at: AT,
    },
    registration: {
      kind: 'admin',
      action: {
        ...{ action: 'registerAgent', address: '10.0.0.9', agentName: 'shop', namespace: null },
        ...{ ruleId: null, status: 201, actor: { method: 'admin-key' } },
      },
      at: AT,
    },
    renewal: {
      kind: 'admin',
      action: {
        ...{ action: 'renewKey', address: '10.0.0.9', agentName: 'shop', namespace: null },
        ...{ ruleId: null, status: 200, actor: null },
      },
      at: AT,
    },
    suspended: { kind: 'stop', state: 'suspended', reason: 'leak of data', by: 'alice', at: AT },
    resumed: { kind: 'stop', state: 'resumed', reason: 'repaired', by: null, at: AT },
    manifestChanged: { kind: 'lifecycle', state: 'manifest-changed', at: AT },
    lost: { kind: 'gap', lost: 3, reason: 'buffers full', at: AT },
    stopped: { kind: 'lifecycle', state: 'stopped', at: AT },
  } as const satisfies Record<string, RecordEvent>;
}
