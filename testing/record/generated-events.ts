import { OUTCOMES, SEVERITIES } from '../../core/shapes/values.ts';
import { AUTH_METHODS } from '../../core/shapes/actor.ts';
import { IDENTITY_REASONS, IDENTITY_SOURCES } from '../../core/shapes/identity.ts';
import { LIFECYCLE, type RecordEvent } from '../../core/record/record-event.ts';
import fc from '../random/properties.ts';

/** Any UTF-16 units, also control characters and halves of surrogate pairs. */
const units = fc
  .array(fc.integer({ min: 0, max: 0xff_ff }), { maxLength: 12 })
  .map((codes) => String.fromCharCode(...codes));
/** One character as often as no other limit permits it: with six bytes of JSON, three, two halves of a pair, and one. */
const long = fc
  .tuple(fc.constantFrom('\u0000', '\u2028', '\ud83d\ude00', '\ud83d', 'x', '"'), fc.integer({ max: 9_000 }))
  .map(([character, count]) => character.repeat(Math.max(1, count)));
const word = fc.constantFrom(
  'read_file',
  'Zahlung löschen',
  '<b>&"\\',
  '10.0.0.1',
  'api.example.com:8443',
  '',
);
const text = fc.oneof(
  { weight: 6, arbitrary: word },
  { weight: 3, arbitrary: units },
  { weight: 1, arbitrary: long },
);
const names = fc.oneof(
  { weight: 9, arbitrary: fc.array(text, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.array(text, { minLength: 201, maxLength: 300 }) },
);
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const outcome = fc.constantFrom(...OUTCOMES);
const time = fc.integer({ min: 0, max: 4_000_000_000_000 });
const isoTime = time.map((ms) => new Date(ms).toISOString());
const duration = fc.double({ min: 0, max: 1e9, noNaN: true });
const status = fc.integer({ min: 100, max: 599 });
const method = fc.constantFrom('GET', 'POST', 'OPTIONS', 'CONNECT', 'PROPFIND');
const count = fc.integer({ min: 0, max: 1e9 });

/** Members that are undefined are absent. */
const present = <T extends object>(of: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  of.map((value) => JSON.parse(JSON.stringify(value)) as T);

/** As sockets have them. */
const address = fc.constantFrom('10.1.2.3', '::1', '2001:db8::1', '::ffff:10.1.2.3', 'fe80::1%eth0');

const identity = fc.record({
  source: fc.constantFrom(...IDENTITY_SOURCES),
  ...{ reason: maybe(fc.constantFrom(...IDENTITY_REASONS)), user: maybe(text), session: maybe(text) },
});

const request = fc.record({
  kind: fc.constant('request'),
  entry: fc.record({
    ...{ seq: count, requestId: text, timestamp: isoTime, method, path: text, address: maybe(address) },
    ...{ identity: maybe(identity), bytesIn: count, bytesOut: count, statusCode: maybe(status) },
    ...{ durationMs: maybe(duration), outcome: maybe(outcome), policyViolations: maybe(names) },
    ...{ blocked: maybe(fc.constant(true)), aborted: maybe(fc.constant(true)) },
    ...{ guardrailsInvoked: maybe(names), toolsCalled: maybe(names), userConfirmed: maybe(fc.boolean()) },
  }),
});

const usage = fc.record({
  ...{ promptTokens: count, cachedTokens: count, cacheWriteTokens: count },
  ...{ completionTokens: count, reasoningTokens: count },
});

const call = fc.record({
  kind: fc.constant('call'),
  at: time,
  call: fc.record({
    lane: fc.constantFrom('openai', 'mcp:files', 'connect', 'own.lane'),
    ...{ id: count, method, path: text, model: fc.option(text), stream: fc.boolean() },
    ...{ toolsOffered: names, toolsCalled: names, toolsExecuted: names, otherModels: maybe(names) },
    ...{ usage: fc.option(usage), statusCode: fc.option(status), durationMs: duration, violations: names },
    ...{ blocked: fc.boolean(), outcome, requestId: fc.option(text) },
  }),
  request: fc.option(fc.record({ identity: maybe(identity) })),
});

const finding = fc.record({
  kind: fc.constant('finding'),
  at: time,
  state: fc.constantFrom('opened', 'closed'),
  issue: fc.record({
    severity: fc.constantFrom(...SEVERITIES),
    ...{ property: text, description: text, recommendation: text },
  }),
});

const admin = fc.record({
  kind: fc.constant('admin'),
  at: time,
  action: fc.record({
    ...{ address: fc.oneof(address, text), status },
    action: fc.constantFrom('registerAgent', 'putProof', 'deleteProof', 'listAuditEvents', 'approveLock'),
    actor: fc.option(
      fc.record({
        method: fc.constantFrom(...AUTH_METHODS),
        ...{ iss: maybe(text), sub: maybe(text), name: maybe(text) },
      }),
    ),
    ...{ agentName: fc.option(text), namespace: fc.option(text), ruleId: fc.option(text) },
  }),
  comment: maybe(text),
  query: maybe(fc.record({ agent: maybe(text), user: maybe(text) })),
});

const stop = fc.record({
  kind: fc.constant('stop'),
  ...{ at: time, state: fc.constantFrom('suspended', 'resumed'), reason: text, by: fc.option(text) },
});
const lifecycle = fc.record({
  kind: fc.constant('lifecycle'),
  ...{ at: time, state: fc.constantFrom(...LIFECYCLE) },
});
const gap = fc.record({
  kind: fc.constant('gap'),
  ...{ at: time, lost: fc.integer({ min: 1, max: 1e9 }), reason: text },
});

/** Events of every kind with hostile and very long texts and lists. */
export const anyEvent: fc.Arbitrary<RecordEvent> = present(
  fc.oneof(
    { weight: 3, arbitrary: request },
    { weight: 4, arbitrary: call },
    ...[finding, admin, stop, lifecycle, gap].map((arbitrary) => ({ weight: 1, arbitrary })),
  ) as fc.Arbitrary<RecordEvent>,
);

export const anyHost = fc.constantFrom('api.openai.com', '[::1]:443', 'intern.example.com:8443', undefined);
