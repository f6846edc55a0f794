import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { advance, nextStep, TIMING, type Circumstances, type Step } from './advance.ts';
import { issueCa, issueLeaf, type KeyPair } from './issue.ts';
import { certificatesIn, entriesOf, parseTlsState, trustBundle, type TlsState } from './tls-state.ts';

const START = new Date('2026-01-01T00:00:00Z');
const HOSTS = ['webhook.platform-system.svc'];
const EMPTY: TlsState = { authority: null, next: null, previous: null, cross: null, leaf: null };
const days = (count: number) => new Date(START.getTime() + count * 86_400_000);

const at = (now: Date, trusted = '', hosts = HOSTS): Circumstances => ({
  now,
  hosts,
  trusted,
  trustedMs: TIMING.settleMs,
  leafMs: TIMING.settleMs,
  isProven: true,
  issued: [],
  timing: TIMING,
});
const issued = (leaf: KeyPair | null, leafMs = TIMING.settleMs) => ({
  issued: [{ hosts: HOSTS, leaf, leafMs }],
});

describe('the next step', () => {
  let authority: KeyPair;
  let other: KeyPair;
  let leaf: KeyPair;
  let strange: KeyPair;
  let lasting: KeyPair;
  let brief: KeyPair;
  let state: TlsState;
  const unproven = (now: Date): Circumstances => ({ ...at(now), isProven: false });

  beforeAll(async () => {
    authority = await issueCa({ now: START, days: TIMING.caDays });
    other = await issueCa({ now: START, days: TIMING.caDays });
    leaf = await issueLeaf(authority, HOSTS, { now: START, days: TIMING.leafDays });
    strange = await issueLeaf(other, HOSTS, { now: START, days: TIMING.leafDays });
    lasting = await issueLeaf(authority, HOSTS, { now: START, days: 365 });
    brief = await issueCa({ now: START, days: 1 });
    state = { ...EMPTY, authority, leaf };
  });

  test.each<[string, () => [TlsState, Circumstances], Step | null]>([
    ['nothing is there', () => [EMPTY, at(START)], 'create-authority'],
    ['all is well', () => [state, at(START)], null],
    ['the authority has ended', () => [state, at(days(3651))], 'create-authority'],
    ['no leaf', () => [{ ...state, leaf: null }, at(START)], 'issue-leaf'],
    ['the leaf is of another authority', () => [{ ...state, authority: other }, at(START)], 'issue-leaf'],
    ['the leaf is for other hosts', () => [state, at(START, '', ['x.svc'])], 'issue-leaf'],
    ['the leaf has 31 days left', () => [state, at(days(59))], null],
    ['the leaf has 29 days left', () => [state, at(days(61))], 'issue-leaf'],
    [
      'the chain lacks the cross certificate',
      () => [{ ...state, cross: other.cert }, at(START)],
      'issue-leaf',
    ],
    ['the authority ends within a year', () => [{ ...state }, at(days(3650 - 364))], 'prepare-next'],
    [
      'the authority ends within a year, and the one before it is still trusted',
      () => [
        { ...state, previous: other.cert },
        { ...at(days(3650 - 364)), leafMs: 0 },
      ],
      'issue-leaf',
    ],
    [
      'the next authority is made, and not yet trusted',
      () => [{ ...state, next: other }, at(days(1), authority.cert)],
      null,
    ],
    [
      'the next authority is trusted since a moment, however old it is',
      () => [
        { ...state, next: other },
        { ...at(days(1), authority.cert + other.cert), trustedMs: TIMING.settleMs - 1 },
      ],
      null,
    ],
    [
      'the next authority is trusted, and settled',
      () => [{ ...state, next: other }, at(START, authority.cert + other.cert)],
      'promote-next',
    ],
    [
      'a previous authority, and a new leaf',
      () => [
        { ...state, previous: other.cert },
        { ...at(days(1)), leafMs: TIMING.settleMs - 1 },
      ],
      null,
    ],
    [
      'a previous authority, and a new leaf of the control plane',
      () => [
        { ...state, previous: other.cert },
        { ...at(days(1)), ...issued(leaf, TIMING.settleMs - 1) },
      ],
      null,
    ],
    [
      'a previous authority, and a settled leaf',
      () => [{ ...state, previous: other.cert }, at(days(1))],
      'retire-previous',
    ],
    [
      'a previous authority, and a leaf of the control plane that is of this one',
      () => [
        { ...state, previous: other.cert },
        { ...at(days(1)), ...issued(leaf) },
      ],
      'retire-previous',
    ],
    [
      'a previous authority, and a leaf of the control plane that is of that one',
      () => [
        { ...state, previous: other.cert },
        { ...at(days(1)), ...issued(strange) },
      ],
      null,
    ],
    [
      'a previous authority, and no leaf of the control plane',
      () => [
        { ...state, previous: other.cert },
        { ...at(days(1)), ...issued(null) },
      ],
      null,
    ],
    [
      'a previous authority, and nobody has seen that the present one is enough',
      () => [{ ...state, previous: other.cert }, unproven(days(1))],
      null,
    ],
    [
      'the same, after 29 days',
      () => [{ ...state, previous: other.cert, leaf: lasting }, unproven(days(29))],
      null,
    ],
    [
      'the same, after 30 days',
      () => [{ ...state, previous: other.cert, leaf: lasting }, unproven(days(30))],
      'retire-previous',
    ],
    [
      'the same, after 30 days, with a new leaf',
      () => [
        { ...state, previous: other.cert, leaf: lasting },
        { ...unproven(days(30)), leafMs: 0 },
      ],
      null,
    ],
    [
      'the same, when the previous one has ended',
      () => [{ ...state, previous: brief.cert }, unproven(days(2))],
      'retire-previous',
    ],
    [
      'the same, when of two previous ones one has ended',
      () => [{ ...state, previous: brief.cert + other.cert }, unproven(days(2))],
      null,
    ],
    [
      'the same, when the leaf has 29 days left: renewing waits for nobody',
      () => [
        { ...state, previous: other.cert },
        { ...unproven(days(61)), leafMs: 0 },
      ],
      'issue-leaf',
    ],
  ])('%s', (_case, given, step) => {
    expect(nextStep(...given())).toBe(step);
  });
});

test('a whole rotation never shows a leaf that the bundle of the moment, or of the step before, does not trust', async () => {
  let { state } = await advance(EMPTY, at(START));
  let trusted = trustBundle(state);
  const first = state.authority?.cert ?? '';
  const history: Step[][] = [];
  const seen = sameSince();
  // Every minute around the day on which the authority gets old, with the API server one look behind.
  for (let minute = 0; minute < 8; minute += 1) {
    const now = new Date(days(3650 - 365).getTime() + (minute + 1) * 60_000);
    const seenMs = { trustedMs: seen('trusted', trusted, minute), leafMs: seen('leaf', state.leaf, minute) };
    const circumstances = { ...at(now, trusted), ...seenMs };
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
  expect(trusted).toBe(state.authority?.cert);
  expect(trusted).not.toBe(first);
  // A sidecar that was given the first authority alone still follows the chain.
  expect(isTrusted(state.leaf, first)).toBe(true);
});

test('an authority that ends within days, as after a year of sleep, still gives a leaf and is exchanged', async () => {
  const { state: old } = await advance(EMPTY, at(START));
  const now = days(3650 - 10);
  const { state, steps } = await advance(old, at(now, trustBundle(old)));
  expect(steps).toEqual(['prepare-next', 'issue-leaf']);
  const { state: next, steps: then } = await advance(state, at(now, trustBundle(state)));
  expect(then).toEqual(['promote-next', 'issue-leaf']);
  expect(isTrusted(next.leaf, trustBundle(state))).toBe(true);
});

test('an authority that was lost is trusted on beside the new one, since its leaves are still served', async () => {
  const [lost, ended] = await Promise.all(
    [10, 1].map((count) => issueCa({ now: START, days: count })),
  );
  const trusted = `${lost!.cert}${ended!.cert}-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n`;
  const { state, steps } = await advance(EMPTY, at(days(2), trusted));
  expect(steps).toEqual(['create-authority', 'issue-leaf']);
  expect(state.previous).toBe(lost!.cert);
  const bundle = trustBundle(state);
  expect(bundle).toBe(`${state.authority!.cert}${lost!.cert}`);
  const later = await advance(state, at(days(3), bundle));
  expect(later.steps).toEqual(['retire-previous']);
  expect((await advance(EMPTY, at(START, 'no certificate'))).state.previous).toBeNull();
});

/** For how long, in milliseconds of a clock that counts minutes, a value has been the same. */
function sameSince(): (what: string, value: unknown, minute: number) => number {
  const since = new Map<string, { value: unknown; minute: number }>();
  return (what, value, minute) => {
    if (since.get(what)?.value !== value) since.set(what, { value, minute });
    return (minute - (since.get(what)?.minute ?? minute)) * 60_000;
  };
}

/** Is the leaf signed by an authority of the bundle, or by one that its own chain ties to the bundle? */
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
  test('keeps a state as it is', async () => {
    const { state } = await advance(EMPTY, at(START));
    const full = {
      ...state,
      next: await issueCa({ now: START, days: 1 }),
      previous: state.authority!.cert,
    };
    expect(parseTlsState(entriesOf(full))).toEqual(full);
    expect(parseTlsState(entriesOf(EMPTY))).toEqual(EMPTY);
  });

  test.each([
    ['ca.crt', 'no certificate', 'authority'],
    ['ca.key', 'no key', 'authority'],
    ['tls.key', '', 'leaf'],
  ])('whose %s is "%s" has no %s', async (entry, value, part) => {
    const { state } = await advance(EMPTY, at(START));
    expect(parseTlsState({ ...entriesOf(state), [entry]: value })).toEqual({ ...state, [part]: null });
  });

  test('whose key belongs to another certificate has no leaf', async () => {
    const [a, b] = await Promise.all([advance(EMPTY, at(START)), advance(EMPTY, at(START))]);
    const mixed = { ...entriesOf(a.state), 'tls.key': b.state.leaf!.key };
    expect(parseTlsState(mixed)).toEqual({ ...a.state, leaf: null });
  });
});
