import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { advance, nextStep, TIMING, type Circumstances, type Step } from './advance.ts';
import { issueCa, issueLeaf } from './issue.ts';
import type { KeyPair } from '../../runtime/http-listener.ts';
import { certificatesIn, entriesOf, parseTlsState, trustBundle, type TlsState } from './tls-state.ts';

const START = new Date('2026-01-01T00:00:00Z');
const HOSTS = ['webhook.platform-system.svc'];
const EMPTY: TlsState = { ca: null, nextCa: null, previousCa: null, cross: null, leaf: null };
const days = (count: number) => new Date(START.getTime() + count * 86_400_000);

const at = (now: Date, trusted = '', hosts = HOSTS): Circumstances => ({
  now,
  hosts,
  trusted,
  trustedMs: TIMING.settleMs,
  leafMs: TIMING.settleMs,
  isCurrentCaSufficient: true,
  issued: [],
  timing: TIMING,
});
const issued = (leaf: KeyPair | null, leafMs = TIMING.settleMs) => ({
  issued: [{ hosts: HOSTS, leaf, leafMs }],
});

describe('the next step', () => {
  let ca: KeyPair;
  let other: KeyPair;
  let leaf: KeyPair;
  let strange: KeyPair;
  let lasting: KeyPair;
  let brief: KeyPair;
  let state: TlsState;
  const insufficient = (now: Date): Circumstances => ({ ...at(now), isCurrentCaSufficient: false });

  /** A state with a previous CA. */
  const previous = (circumstances: () => Circumstances) => (): [TlsState, Circumstances] => [
    { ...state, previousCa: other.cert },
    circumstances(),
  ];

  beforeAll(async () => {
    ca = await issueCa({ now: START, days: TIMING.caDays });
    other = await issueCa({ now: START, days: TIMING.caDays });
    leaf = await issueLeaf(ca, HOSTS, { now: START, days: TIMING.leafDays });
    strange = await issueLeaf(other, HOSTS, { now: START, days: TIMING.leafDays });
    lasting = await issueLeaf(ca, HOSTS, { now: START, days: 365 });
    brief = await issueCa({ now: START, days: 1 });
    state = { ...EMPTY, ca, leaf };
  });

  test.each<[string, () => [TlsState, Circumstances], Step | null]>([
    ['the state is empty', () => [EMPTY, at(START)], 'create-ca'],
    ['nothing is due', () => [state, at(START)], null],
    ['the CA has expired', () => [state, at(days(3651))], 'create-ca'],
    ['no leaf', () => [{ ...state, leaf: null }, at(START)], 'issue-leaf'],
    ['the leaf is signed by another CA', () => [{ ...state, ca: other }, at(START)], 'issue-leaf'],
    ['the leaf is for other hosts', () => [state, at(START, '', ['x.svc'])], 'issue-leaf'],
    ['the leaf has 31 days left', () => [state, at(days(59))], null],
    ['the leaf has 29 days left', () => [state, at(days(61))], 'issue-leaf'],
    [
      'the chain lacks the cross certificate',
      () => [{ ...state, cross: other.cert }, at(START)],
      'issue-leaf',
    ],
    ['the CA expires within a year', () => [{ ...state }, at(days(3650 - 364))], 'prepare-next'],
    [
      'the CA expires within a year, and the previous CA is still trusted',
      () => [
        { ...state, previousCa: other.cert },
        { ...at(days(3650 - 364)), leafMs: 0 },
      ],
      'issue-leaf',
    ],
    [
      'the next CA exists, but is not yet trusted',
      () => [{ ...state, nextCa: other }, at(days(1), ca.cert)],
      null,
    ],
    [
      'the next CA is old, but has been trusted only for a moment',
      () => [
        { ...state, nextCa: other },
        { ...at(days(1), ca.cert + other.cert), trustedMs: TIMING.settleMs - 1 },
      ],
      null,
    ],
    [
      'the next CA is trusted and settled',
      () => [{ ...state, nextCa: other }, at(START, ca.cert + other.cert)],
      'promote-next',
    ],
    ['a previous CA and a new leaf', previous(() => ({ ...at(days(1)), leafMs: TIMING.settleMs - 1 })), null],
    [
      'a previous CA and a new leaf of the control plane',
      previous(() => ({ ...at(days(1)), ...issued(leaf, TIMING.settleMs - 1) })),
      null,
    ],
    ['a previous CA and a settled leaf', previous(() => at(days(1))), 'retire-previous'],
    [
      'a previous CA and a leaf of the control plane signed by the current CA',
      previous(() => ({ ...at(days(1)), ...issued(leaf) })),
      'retire-previous',
    ],
    [
      'a previous CA and a leaf of the control plane signed by the previous CA',
      previous(() => ({ ...at(days(1)), ...issued(strange) })),
      null,
    ],
    [
      'a previous CA and no leaf of the control plane',
      previous(() => ({ ...at(days(1)), ...issued(null) })),
      null,
    ],
    ['a previous CA while the current CA may not be sufficient', previous(() => insufficient(days(1))), null],
    [
      'insufficient after 29 days',
      () => [{ ...state, previousCa: other.cert, leaf: lasting }, insufficient(days(29))],
      null,
    ],
    [
      'insufficient after 30 days',
      () => [{ ...state, previousCa: other.cert, leaf: lasting }, insufficient(days(30))],
      'retire-previous',
    ],
    [
      'insufficient after 30 days with a new leaf',
      () => [
        { ...state, previousCa: other.cert, leaf: lasting },
        { ...insufficient(days(30)), leafMs: 0 },
      ],
      null,
    ],
    [
      'insufficient when the previous CA has expired',
      () => [{ ...state, previousCa: brief.cert }, insufficient(days(2))],
      'retire-previous',
    ],
    [
      'insufficient when one of two previous CAs has expired',
      () => [{ ...state, previousCa: brief.cert + other.cert }, insufficient(days(2))],
      null,
    ],
    [
      'insufficient when the leaf has 29 days left, which is still renewed',
      () => [
        { ...state, previousCa: other.cert },
        { ...insufficient(days(61)), leafMs: 0 },
      ],
      'issue-leaf',
    ],
  ])('%s', (_case, given, step) => {
    expect(nextStep(...given())).toBe(step);
  });
});

test('a rotation never serves a leaf that the current or the previous trust bundle does not trust', async () => {
  let { state } = await advance(EMPTY, at(START));
  let trusted = trustBundle(state);
  const first = state.ca?.cert ?? '';
  const history: Step[][] = [];
  const unchangedMs = createUnchangedTimer();
  // Every minute around the day on which the CA becomes due for renewal; the API server is one reconciliation behind.
  for (let minute = 0; minute < 8; minute += 1) {
    const now = new Date(days(3650 - 365).getTime() + (minute + 1) * 60_000);
    const times = {
      trustedMs: unchangedMs('trusted', trusted, minute),
      leafMs: unchangedMs('leaf', state.leaf, minute),
    };
    const circumstances = { ...at(now, trusted), ...times };
    const { state: next, steps } = await advance(state, circumstances);
    history.push(steps);
    expect(isTrusted(next.leaf, trusted)).toBe(true);
    expect(isTrusted(state.leaf, trustBundle(next))).toBe(true);
    state = next;
    trusted = trustBundle(next);
  }
  expect(history).toEqual([
    ['prepare-next', 'issue-leaf'],
    [],
    [],
    ['promote-next', 'issue-leaf'],
    [],
    [],
    ['retire-previous'],
    [],
  ]);
  expect(trusted).toBe(state.ca?.cert);
  expect(trusted).not.toBe(first);
  // A sidecar that trusts only the first CA still accepts the leaf through the chain.
  expect(isTrusted(state.leaf, first)).toBe(true);
});

test('a CA that expires within days, for example after a year of downtime, still signs a leaf and is rotated', async () => {
  const { state: old } = await advance(EMPTY, at(START));
  const now = days(3650 - 10);
  const { state, steps } = await advance(old, at(now, trustBundle(old)));
  expect(steps).toEqual(['prepare-next', 'issue-leaf']);
  const { state: next, steps: then } = await advance(state, at(now, trustBundle(state)));
  expect(then).toEqual(['promote-next', 'issue-leaf']);
  expect(isTrusted(next.leaf, trustBundle(state))).toBe(true);
});

test('a lost CA stays trusted next to the new CA, because its leaves are still served', async () => {
  const [lost, expired] = await Promise.all([10, 1].map((count) => issueCa({ now: START, days: count })));
  const trusted = `${lost!.cert}${expired!.cert}-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n`;
  const { state, steps } = await advance(EMPTY, at(days(2), trusted));
  expect(steps).toEqual(['create-ca', 'issue-leaf']);
  expect(state.previousCa).toBe(lost!.cert);
  const bundle = trustBundle(state);
  expect(bundle).toBe(`${state.ca!.cert}${lost!.cert}`);
  const later = await advance(state, at(days(3), bundle));
  expect(later.steps).toEqual(['retire-previous']);
  expect((await advance(EMPTY, at(START, 'no certificate'))).state.previousCa).toBeNull();
});

/** Returns a function that computes for how many milliseconds a value has been unchanged, by a clock that counts minutes. */
function createUnchangedTimer(): (what: string, value: unknown, minute: number) => number {
  const since = new Map<string, { value: unknown; minute: number }>();
  return (what, value, minute) => {
    if (since.get(what)?.value !== value) since.set(what, { value, minute });
    return (minute - (since.get(what)?.minute ?? minute)) * 60_000;
  };
}

/** Whether the leaf is signed by a CA of the bundle, directly or through a cross certificate in its chain. */
function isTrusted(leaf: KeyPair | null, bundle: string): boolean {
  const [own, ...chain] = parsed(leaf?.cert ?? '');
  const roots = parsed(bundle);
  const signedBy = (one: X509Certificate, by: X509Certificate[]) => by.some((ca) => one.verify(ca.publicKey));
  if (!own) return false;
  return signedBy(own, roots) || chain.some((cross) => signedBy(own, [cross]) && signedBy(cross, roots));
}

function parsed(pem: string): X509Certificate[] {
  return certificatesIn(pem).map((one) => new X509Certificate(one));
}

describe('the Secret', () => {
  test('round-trips a state', async () => {
    const { state } = await advance(EMPTY, at(START));
    const full = {
      ...state,
      nextCa: await issueCa({ now: START, days: 1 }),
      previousCa: state.ca!.cert,
    };
    expect(parseTlsState(entriesOf(full))).toEqual(full);
    expect(parseTlsState(entriesOf(EMPTY))).toEqual(EMPTY);
  });

  test.each([
    ['ca.crt', 'no certificate', 'ca'],
    ['ca.key', 'no key', 'ca'],
    ['tls.key', '', 'leaf'],
  ])('with %s "%s" has no %s', async (entry, value, part) => {
    const { state } = await advance(EMPTY, at(START));
    expect(parseTlsState({ ...entriesOf(state), [entry]: value })).toEqual({ ...state, [part]: null });
  });

  test('with the key of another certificate has no leaf', async () => {
    const [a, b] = await Promise.all([advance(EMPTY, at(START)), advance(EMPTY, at(START))]);
    const mixed = { ...entriesOf(a.state), 'tls.key': b.state.leaf!.key };
    expect(parseTlsState(mixed)).toEqual({ ...a.state, leaf: null });
  });
});
