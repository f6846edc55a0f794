import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../core/behavior/audit-entry.ts';
import { DENIAL, inEachSetting, type ClientRig } from '../../testing/client-rig.ts';
import { askRaw } from '../../testing/proxy-rig.ts';

const PII = 'pii_detector_not_invoked';
const GUARDRAILS = 'X-Platform-Guardrails-Invoked';
const TOOLS = 'X-Platform-Tools-Called';
const CONFIRMED = 'X-Platform-User-Confirmed';
const RAN = `${GUARDRAILS}: pii-detector`;
const DELETED = `${TOOLS}: delete_order`;
const MANY = Array.from({ length: 900 }, (_, index) => `tool-${index}`);

type Told = Pick<AuditEntry, 'guardrailsInvoked' | 'toolsCalled' | 'userConfirmed'>;

/** Header lines of an agent, what is recorded of them, and why the answer is denied; null: nobody is asked. */
const ROWS: [name: string, lines: string[], told: Told, denials: string[] | null][] = [
  ['nothing', [], {}, null],
  ['a header of the product’s that is none of the three', ['X-Platform-Other: x'], {}, null],
  ['a violations header of its own', ['X-Platform-Policy-Violations: none'], {}, null],
  ['a guardrail', [RAN], { guardrailsInvoked: ['pii-detector'] }, []],
  ['an empty value, which is a fact', [`${GUARDRAILS}:`], { guardrailsInvoked: [] }, [PII]],
  ['blanks and commas', [`${GUARDRAILS}:  , ,`], { guardrailsInvoked: [] }, [PII]],
  [
    'a guardrail in another case, which is another',
    [`${GUARDRAILS}: PII-Detector`],
    { guardrailsInvoked: ['PII-Detector'] },
    [PII],
  ],
  ['a header in small letters', [RAN.toLowerCase()], { guardrailsInvoked: ['pii-detector'] }, []],
  [
    'a header in capitals',
    [`${GUARDRAILS.toUpperCase()}: pii-detector`],
    { guardrailsInvoked: ['pii-detector'] },
    [],
  ],
  [
    'a header with underscores',
    [`X_Platform_Guardrails_Invoked: pii-detector`],
    { guardrailsInvoked: ['pii-detector'] },
    [],
  ],
  [
    'a header twice',
    [`${GUARDRAILS}: custom`, RAN, RAN],
    { guardrailsInvoked: ['custom', 'pii-detector'] },
    [],
  ],
  [
    'a header that Connection lists',
    [`Connection: ${TOOLS}`, RAN, DELETED],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'] },
    [DENIAL],
  ],
  ['a tool and no guardrail', [DELETED], { toolsCalled: ['delete_order'] }, [DENIAL, PII]],
  [
    'a tool, confirmed',
    [RAN, DELETED, `${CONFIRMED}: true`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'], userConfirmed: true },
    [],
  ],
  [
    'a tool, refused',
    [RAN, DELETED, `${CONFIRMED}: false`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'], userConfirmed: false },
    [DENIAL],
  ],
  [
    'a tool and true with a byte that HTTP does not take for a blank',
    [RAN, DELETED, `${CONFIRMED}: true\xa0`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'] },
    [DENIAL],
  ],
  [
    'a tool and another word than true',
    [RAN, DELETED, `${CONFIRMED}: yes`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'] },
    [DENIAL],
  ],
  [
    'a tool, confirmed twice',
    [RAN, DELETED, `${CONFIRMED}: true`, `${CONFIRMED}: true`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'], userConfirmed: true },
    [],
  ],
  [
    'a tool, confirmed and not',
    [RAN, DELETED, `${CONFIRMED}: true`, `${CONFIRMED}: false`],
    { guardrailsInvoked: ['pii-detector'], toolsCalled: ['delete_order'] },
    [DENIAL],
  ],
  ['a confirmation alone', [`${CONFIRMED}: true`], { userConfirmed: true }, [PII]],
  ['another word in its place alone', [`${CONFIRMED}: perhaps`], {}, [PII]],
  [
    'many tools, the last of them destructive',
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

inEachSetting('what an agent reports', ({ mode, before }) => {
  let agent: Server;
  let rig: ClientRig;
  let lines: string[];
  /** The head of the newest request at the agent. */
  let asked: string;

  const play = (socket: Socket): void => {
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (text: string) => {
      asked = text;
      socket.write(['HTTP/1.1 200 OK', ...lines, 'Content-Length: 2', '', 'ok'].join('\r\n'), 'latin1');
    });
  };
  beforeEach(async () => {
    agent = createServer(play);
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

  describe.each(ROWS)('%s', (_name, reported, told, denials) => {
    test(
      denials === null ? 'is put to no engine' : denials.length === 0 ? 'is allowed' : 'is denied',
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
          ...told,
          outcome: denials === null ? 'notEvaluated' : denials.length === 0 ? 'allow' : 'deny',
          ...(denials?.length && { policyViolations: denials }),
        });
      },
    );
  });

  test('a client cannot say in its place: its headers of these names are taken away', async () => {
    lines = [DELETED];
    const head = await get(
      RAN,
      `${CONFIRMED}: true`,
      'x-platform-anything: 1',
      'X_Platform_User_Confirmed: true',
      'X-Platformer: 1',
    );
    expect(head.split(' ')[1]).toBe(mode === 'enforce' ? '403' : '200');
    expect(asked.match(/^x.platform.*$/gim)).toEqual(['X-Platformer: 1']);
    expect(await rig.completed(1)).toMatchObject([{ policyViolations: [DENIAL, PII] }]);
  });
});
