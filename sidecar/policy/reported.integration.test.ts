import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/shapes/audit-entry.ts';
import { DENIAL, inEachSetting, type ClientRig } from '../../testing/sidecar/client-rig.ts';
import { askRaw } from '../../testing/sidecar/proxy-rig.ts';

const PII = 'pii_detector_not_invoked';
const GUARDRAILS = 'X-Platform-Guardrails-Invoked';
const TOOLS = 'X-Platform-Tools-Called';
const CONFIRMED = 'X-Platform-User-Confirmed';
const RAN = `${GUARDRAILS}: pii-detector`;
const DELETED = `${TOOLS}: delete_order`;
const MANY = Array.from({ length: 900 }, (_, index) => `tool-${index}`);

type Recorded = Pick<AuditEntry, 'guardrailsInvoked' | 'toolsCalled' | 'userConfirmed'>;

/** Header lines of an agent, the recorded values, and the denial reasons; null: the engine is not queried. */
const ROWS: [name: string, lines: string[], recorded: Recorded, denials: string[] | null][] = [
  ['no header', [], {}, null],
  ['another X-Platform header', ['X-Platform-Other: x'], {}, null],
  ['a violations header from the agent', ['X-Platform-Policy-Violations: none'], {}, null],
  ['a guardrail', [RAN], { guardrailsInvoked: ['pii-detector'] }, []],
  ['an empty value, which means that no guardrail ran', [`${GUARDRAILS}:`], { guardrailsInvoked: [] }, [PII]],
  ['spaces and commas', [`${GUARDRAILS}:  , ,`], { guardrailsInvoked: [] }, [PII]],
  [
    'a guardrail in another case, which is a different guardrail',
    [`${GUARDRAILS}: PII-Detector`],
    { guardrailsInvoked: ['PII-Detector'] },
    [PII],
  ],
  ['a header name in lower case', [RAN.toLowerCase()], { guardrailsInvoked: ['pii-detector'] }, []],
  [
    'a header name in upper case',
    [`${GUARDRAILS.toUpperCase()}: pii-detector`],
    { guardrailsInvoked: ['pii-detector'] },
    [],
  ],
  [
    'a header name with underscores',
    [`X_Platform_Guardrails_Invoked: pii-detector`],
    { guardrailsInvoked: ['pii-detector'] },
    [],
  ],
  [
    'the same header several times',
    [`${GUARDRAILS}: custom`, RAN, RAN],
    { guardrailsInvoked: ['custom', 'pii-detector'] },
    [],
  ],
  [
    'a header listed in Connection',
    [`Connection: ${TOOLS}`, RAN, DELETED],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'] },
    [DENIAL],
  ],
  ['a destructive tool without a guardrail', [DELETED], { toolsCalled: ['delete_order'] }, [DENIAL, PII]],
  [
    'a destructive tool, confirmed',
    [RAN, DELETED, `${CONFIRMED}: true`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'], userConfirmed: true },
    [],
  ],
  [
    'a destructive tool, not confirmed',
    [RAN, DELETED, `${CONFIRMED}: false`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'], userConfirmed: false },
    [DENIAL],
  ],
  [
    'a destructive tool and true with a byte that is not HTTP white space',
    [RAN, DELETED, `${CONFIRMED}: true\xa0`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'] },
    [DENIAL],
  ],
  [
    'a destructive tool and an invalid confirmation',
    [RAN, DELETED, `${CONFIRMED}: yes`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'] },
    [DENIAL],
  ],
  [
    'a destructive tool, confirmed twice',
    [RAN, DELETED, `${CONFIRMED}: true`, `${CONFIRMED}: true`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'], userConfirmed: true },
    [],
  ],
  [
    'a destructive tool, with contradicting confirmations',
    [RAN, DELETED, `${CONFIRMED}: true`, `${CONFIRMED}: false`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'] },
    [DENIAL],
  ],
  ['only a confirmation', [`${CONFIRMED}: true`], { userConfirmed: true }, [PII]],
  ['only an invalid confirmation', [`${CONFIRMED}: perhaps`], {}, [PII]],
  [
    'many tools, of which the last is destructive',
    [RAN, `${TOOLS}: ${MANY.join(',')},delete_order`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: [...MANY, 'delete_order'] },
    [DENIAL],
  ],
  [
    'one tool thousands of times before a destructive one',
    [RAN, `${TOOLS}: ${'a,'.repeat(3000)}delete_order`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['a', 'delete_order'] },
    [DENIAL],
  ],
];

inEachSetting('a response with behavioral headers', ({ mode, before }) => {
  let agent: Server;
  let rig: ClientRig;
  let lines: string[];
  /** The head of the newest request that the agent received. */
  let received: string;

  const onConnection = (socket: Socket): void => {
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (text: string) => {
      received = text;
      socket.write(['HTTP/1.1 200 OK', ...lines, 'Content-Length: 2', '', 'ok'].join('\r\n'), 'latin1');
    });
  };
  beforeEach(async () => {
    agent = createServer(onConnection);
    await new Promise<void>((resolve) => agent.listen(0, '127.0.0.1', resolve));
    rig = await before(`http://127.0.0.1:${(agent.address() as AddressInfo).port}`);
  });
  afterEach(async () => {
    await rig.close();
    await new Promise((resolve) => agent.close(resolve));
  });

  const get = (...headers: string[]): Promise<string> =>
    askRaw(
      Number(new URL(rig.url).port),
      ['GET / HTTP/1.1', 'Host: a', 'Connection: close', ...headers, '', ''].join('\r\n'),
    );

  describe.each(ROWS)('%s', (_name, reported, recorded, denials) => {
    test(
      denials === null ? 'is not evaluated' : denials.length === 0 ? 'is allowed' : 'is denied',
      async () => {
        lines = reported;
        const [head = '', body] = (await get()).split('\r\n\r\n');
        const isBlocked = mode === 'enforce' && (denials?.length ?? 0) > 0;
        expect(head.split(' ')[1]).toBe(isBlocked ? '403' : '200');
        expect(body === 'ok').toBe(!isBlocked);
        const own = head.split('\r\n').filter((line) => /^x[-_]platform/i.test(line));
        expect(own).toEqual(denials?.length ? [`X-Platform-Policy-Violations: ${denials.join(',')}`] : []);
        const [entry] = await rig.completed(1);
        const { guardrailsInvoked, toolsCalled, userConfirmed, outcome, policyViolations } = entry!;
        expect({ guardrailsInvoked, toolsCalled, userConfirmed, outcome, policyViolations }).toEqual({
          ...recorded,
          outcome: denials === null ? 'notEvaluated' : denials.length === 0 ? 'allow' : 'deny',
          ...(denials?.length && { policyViolations: denials }),
        });
      },
    );
  });

  test('ignores behavioral headers of the client, which are removed from the request', async () => {
    lines = [DELETED];
    const head = await get(
      RAN,
      `${CONFIRMED}: true`,
      'x-platform-anything: 1',
      'X_Platform_User_Confirmed: true',
      'X-Platformer: 1',
    );
    expect(head.split(' ')[1]).toBe(mode === 'enforce' ? '403' : '200');
    expect(received.match(/^x.platform.*$/gim)).toEqual(['X-Platformer: 1']);
    expect(await rig.completed(1)).toMatchObject([{ policyViolations: [DENIAL, PII] }]);
  });
});
