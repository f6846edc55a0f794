import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { StopDirective } from '../../core/shapes/agent-stop.ts';
import { startDirectivePlane, type DirectivePlane } from '../../testing/sidecar/directive-plane.ts';
import { ask } from '../../testing/sidecar/proxy-rig.ts';
import { manifestText, startSidecarRig, type SidecarRig } from '../../testing/sidecar/sidecar-rig.ts';
import { aMoment } from '../../testing/time/moment.ts';
import { SteppingClock } from '../../testing/time/stepping-clock.ts';
import { until } from '../../testing/time/until.ts';

const STOP: StopDirective = {
  ...{ id: 'shop-team/incident', reason: 'leak of order data' },
  ...{ since: '2026-12-01T09:59:00Z', until: null },
};
const RULES = {
  ...{ revision: 'r1', models: [], tools: { allowed: [], forbidden: ['shell*'] }, hosts: [] },
  ...{ maxMonthlyUSD: null, maxTokensPerDay: null },
};
const MANIFEST = manifestText();

let plane: DirectivePlane;
let clock: SteppingClock;
let folder: string;
const rigs: SidecarRig[] = [];
beforeEach(async () => {
  plane = await startDirectivePlane();
  clock = new SteppingClock('2026-12-01T10:00:00Z');
  folder = await mkdtemp(join(tmpdir(), 'directives-'));
});
afterEach(async () => {
  for (const rig of rigs.splice(0)) await rig.close();
  await plane.close();
  await rm(folder, { recursive: true, force: true });
});

async function start(env: Record<string, string> = {}): Promise<SidecarRig> {
  const rig = await startSidecarRig({
    ...{ manifest: MANIFEST, agent: { '/health': 200, '/a': 200 }, clock },
    env: { PLATFORM_URL: plane.url, PLATFORM_KEY: 'the-key', ...env },
  });
  rigs.push(rig);
  return rig;
}

/** 0: the request was cut. */
const statusOf = ({ sidecar }: SidecarRig): Promise<number> =>
  ask(sidecar.proxyPort, { path: '/a' }).then(
    ({ status }) => status,
    () => 0,
  );
const expectStatus = (rig: SidecarRig, status: number): Promise<void> =>
  until(async () => (await statusOf(rig)) === status, `status ${status}`);
const messages = (rig: SidecarRig): string[] => rig.log.map(([, message]) => message);
const documentOf = (stop: StopDirective | null, more: object = {}): object => ({
  revision: '1',
  stop,
  ...more,
});
const stopIn = async (rig: SidecarRig): Promise<unknown> => (await rig.report('/readyz'))['stop'];
const isLive = (): Promise<void> => until(() => plane.streams.length === 1, 'the stream');

describe('the stream', () => {
  test('stops and resumes the agent, and the sidecar stays ready', async () => {
    plane.first = documentOf(null);
    const rig = await start();
    await isLive();
    expect(await statusOf(rig)).toBe(200);
    plane.send(documentOf(STOP));
    await expectStatus(rig, 503);
    expect((await rig.control('/readyz')).status).toBe(200);
    expect(await stopIn(rig)).toBe(STOP.id);
    const metrics = await (await rig.control('/metrics')).text();
    expect(metrics).toContain('platform_sidecar_stopped 1\n');
    expect(metrics).toMatch(/platform_sidecar_stopped_requests_total\{port="proxy"\} [1-9]/);
    expect(metrics).toContain('platform_sidecar_requests_total{outcome="notEvaluated"} ');
    plane.send(documentOf(null));
    await expectStatus(rig, 200);
    expect(await stopIn(rig)).toBeUndefined();
  });

  test('is requested with the credential and the hash of the manifest, and again when that changes', async () => {
    plane.first = documentOf(null);
    const rig = await start();
    await isLive();
    const [{ url, headers } = { url: '', headers: {} }] = plane.asked;
    expect(url).toMatch(/^\/api\/v1\/directives\?manifestHash=[0-9a-f]{64}$/);
    expect(headers).toMatchObject({ authorization: 'Bearer the-key', accept: 'text/event-stream' });
    await writeFile(rig.manifestPath, manifestText({ tools: [{ name: 'find' }] }));
    await until(async () => {
      await clock.pass(1_000, 200);
      return plane.asked.length === 2;
    }, 'the second request');
    expect(plane.asked[1]?.url).not.toBe(url);
  });

  test('has the organisation rules, which lanes enforce at once', async () => {
    plane.first = documentOf(null, { organisation: RULES });
    const rig = await start({ DIRECTIVES_STORE_PATH: join(folder, 'd.json') });
    await isLive();
    await until(async () => (await kept()).organisation !== null);
    // An absent member changes nothing.
    plane.send(documentOf(STOP));
    await expectStatus(rig, 503);
    await until(async () => (await kept()).stop !== null);
    expect((await kept()).organisation).toMatchObject({ revision: 'r1' });
  });

  test('a stop applies although the rules next to it are not valid', async () => {
    plane.first = documentOf(STOP, { organisation: { ...RULES, models: 'all' } });
    await expectStatus(await start(), 503);
  });

  test.each<[string, unknown]>([
    ['no JSON', '{'],
    ['no stop', { revision: '1' }],
    ['an undefined stop', { revision: '1', stop: {} }],
    ['a stop without a reason', documentOf({ ...STOP, reason: '' })],
    ['a stop with another time', documentOf({ ...STOP, until: 'soon' })],
    ['too much', documentOf({ ...STOP, reason: 'x'.repeat(300_000) })],
  ])('an event with %s changes nothing, and is logged once', async (_, event) => {
    plane.first = documentOf(STOP);
    const rig = await start();
    await expectStatus(rig, 503);
    plane.send(event);
    plane.send(event);
    plane.write(`event: other\ndata: ${JSON.stringify(documentOf(null))}\n\n`);
    plane.send(documentOf({ ...STOP, id: 'shop-team/second' }));
    await until(async () => (await stopIn(rig)) === 'shop-team/second');
    expect(messages(rig).filter((each) => each === 'invalid directives ignored').length).toBeLessThanOrEqual(
      1,
    );
    expect(messages(rig)).not.toContain('agent resumed');
  });

  test('is connected again within a second after its end, and the stop stays meanwhile', async () => {
    plane.first = documentOf(STOP);
    const rig = await start();
    await expectStatus(rig, 503);
    plane.cut();
    await until(() => plane.streams.length === 0);
    await aMoment();
    expect(await statusOf(rig)).toBe(503);
    plane.first = documentOf(null);
    await clock.pass(1_000, 100);
    await expectStatus(rig, 200);
    expect(plane.asked).toHaveLength(2);
    expect(messages(rig)).not.toContain('directive stream not connected, directives arrive with heartbeats');
  });

  test('is connected again if nothing arrives for 45 seconds; comments keep it', async () => {
    plane.first = documentOf(null);
    await start();
    await isLive();
    for (let second = 0; second < 60; second += 15) {
      plane.write(': heartbeat\n\n');
      await aMoment();
      await clock.pass(15_000, 5_000);
    }
    expect(plane.asked).toHaveLength(1);
    await clock.pass(31_000, 1_000);
    await until(async () => {
      await clock.pass(1_000, 200);
      return plane.asked.length === 2;
    });
  });

  test('waits longer after each failure, half a minute at most, and logs an outage once', async () => {
    plane.status = 500;
    const rig = await start();
    const attempts: number[] = [];
    let seen = 0;
    for (let second = 0; second < 120; second += 1) {
      await clock.pass(1_000, 1_000);
      await aMoment();
      if (plane.asked.length > seen) attempts.push(second);
      seen = plane.asked.length;
    }
    const pauses = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
    expect(pauses.at(-1)).toBeGreaterThanOrEqual(29);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(34);
    expect(attempts.length).toBeGreaterThan(5);
    expect(attempts.length).toBeLessThan(12);
    const warning = 'directive stream not connected, directives arrive with heartbeats';
    expect(messages(rig).filter((each) => each === warning)).toHaveLength(1);
    plane.status = 200;
    plane.first = documentOf(STOP);
    await clock.pass(34_000);
    await expectStatus(rig, 503);
    expect(messages(rig)).toContain('directive stream connected again');
  });

  test.each([
    ['404', 404, {}, 290_000],
    ['405', 405, {}, 290_000],
    ['429', 429, { 'retry-after': '60' }, 59_000],
    ['503 with Retry-After', 503, { 'retry-after': '60' }, 59_000],
  ])('%s: asks again after the time for it', async (_, status, headers, ms) => {
    Object.assign(plane, { status, headers });
    const rig = await start();
    await until(() => plane.asked.length === 1);
    await aMoment();
    await clock.pass(ms, 10_000);
    await aMoment();
    expect(plane.asked).toHaveLength(1);
    plane.status = 200;
    plane.first = documentOf(STOP);
    await clock.pass(11_000);
    await expectStatus(rig, 503);
    expect(
      messages(rig).filter((each) => each.startsWith('control plane has no directive stream')),
    ).toHaveLength(ms > 60_000 ? 1 : 0);
  });
});

describe('the response to a heartbeat', () => {
  const beat = async (): Promise<void> => {
    const before = plane.heartbeats.length;
    await until(async () => {
      await clock.pass(1_000);
      return plane.heartbeats.length > before;
    }, 'a heartbeat');
  };

  test('stops and resumes without a stream; an absent or invalid member changes nothing', async () => {
    plane.status = 404;
    plane.reply = { stop: STOP };
    const rig = await start();
    await expectStatus(rig, 503);
    for (const reply of [null, {}, { stop: 'none' }, { stop: { id: 'x' } }]) {
      plane.reply = reply;
      await beat();
      expect(await statusOf(rig)).toBe(503);
    }
    expect(messages(rig).filter((each) => each === 'invalid directives ignored')).toHaveLength(1);
    plane.reply = { stop: null };
    await until(async () => {
      await clock.pass(1_000);
      return (await statusOf(rig)) === 200;
    });
  });

  test('does not override the stream, which is connected again for the present state', async () => {
    plane.first = documentOf(STOP);
    plane.reply = { stop: null };
    const rig = await start();
    await expectStatus(rig, 503);
    await beat();
    await until(async () => {
      await clock.pass(1_000, 200);
      return plane.asked.length >= 2;
    });
    expect(await statusOf(rig)).toBe(503);
    expect(messages(rig)).not.toContain('agent resumed');
  });

  test('applies the same stop again after the clock was ahead for a moment', async () => {
    plane.status = 404;
    plane.reply = { stop: { ...STOP, until: '2026-12-01T12:00:00Z' } };
    const rig = await start();
    await expectStatus(rig, 503);
    clock.aheadMs = 10_800_000;
    await clock.pass(60_000);
    expect(await statusOf(rig)).toBe(200);
    clock.aheadMs = 0;
    await beat();
    await expectStatus(rig, 503);
  });

  test('the stop is confirmed with an early heartbeat', async () => {
    plane.first = documentOf(null);
    const rig = await start();
    await until(() => plane.heartbeats.length === 1);
    expect(plane.heartbeats[0]).not.toHaveProperty('stop');
    await isLive();
    await aMoment();
    plane.send(documentOf(STOP));
    await expectStatus(rig, 503);
    await until(async () => {
      await clock.pass(500, 500);
      return plane.heartbeats.length === 2;
    });
    expect(clock.now().getTime()).toBeLessThan(Date.parse('2026-12-01T10:00:29Z'));
    expect(plane.heartbeats[1]?.stop).toMatchObject({ id: STOP.id, cut: expect.any(Number), lanes: false });
  });
});

const kept = async (): Promise<{ opened: boolean; stop: unknown; organisation: unknown }> =>
  JSON.parse(
    await readFile(join(folder, 'd.json'), 'utf8').catch(
      () => '{"opened":false,"stop":null,"organisation":null}',
    ),
  ) as never;

describe('the file', () => {
  const env = () => ({ DIRECTIVES_STORE_PATH: join(folder, 'd.json') });
  const NO_PLANE = 'http://127.0.0.1:9';

  test('keeps a stop for a restart without a control plane, from the first request on', async () => {
    plane.first = documentOf(STOP);
    await start(env());
    await until(async () => (await kept()).stop !== null);
    const rig = await start({ ...env(), PLATFORM_URL: NO_PLANE });
    expect(await statusOf(rig)).toBe(503);
    expect(rig.agent.asked['/a']).toBeUndefined();
  });

  test('keeps `until`, which ends the stop without a control plane', async () => {
    plane.first = documentOf({ ...STOP, until: '2026-12-01T10:30:00Z' });
    await start(env());
    await until(async () => (await kept()).stop !== null);
    const rig = await start({ ...env(), PLATFORM_URL: NO_PLANE });
    expect(await statusOf(rig)).toBe(503);
    await clock.pass(1_800_000, 60_000);
    expect(await statusOf(rig)).toBe(200);
    const next = await start({ ...env(), PLATFORM_URL: NO_PLANE });
    expect(await statusOf(next)).toBe(200);
  });

  test('forgets a stop that was lifted', async () => {
    plane.first = documentOf(STOP);
    await start(env());
    await until(async () => (await kept()).stop !== null);
    plane.send(documentOf(null));
    await until(async () => (await kept()).stop === null);
    expect(await statusOf(await start({ ...env(), PLATFORM_URL: NO_PLANE }))).toBe(200);
  });

  test.each([
    ['no JSON', '{"stop":'],
    ['another form', '{"opened":1,"stop":null,"organisation":null}'],
    ['an empty file', ''],
  ])('%s is logged and ignored, and replaced later', async (_, text) => {
    await writeFile(join(folder, 'd.json'), text);
    plane.first = documentOf(null);
    const rig = await start(env());
    expect(await statusOf(rig)).toBe(200);
    expect(messages(rig)).toContain('stored directives ignored');
    await isLive();
    plane.send(documentOf(STOP));
    await until(async () => (await readFile(join(folder, 'd.json'), 'utf8')).includes(STOP.id));
  });

  test('keeps the stop although the rules next to it are not valid, as those of another version', async () => {
    const text = JSON.stringify({ opened: true, stop: STOP, organisation: { ...RULES, models: 'all' } });
    await writeFile(join(folder, 'd.json'), text);
    const rig = await start({ ...env(), PLATFORM_URL: NO_PLANE });
    expect(await statusOf(rig)).toBe(503);
    expect(messages(rig)).toContain('stored directives ignored');
  });

  test('a path that cannot be read or written is logged, and the stop stays in memory', async () => {
    await mkdir(join(folder, 'd.json'));
    plane.first = documentOf(STOP);
    const rig = await start(env());
    await expectStatus(rig, 503);
    await until(() => messages(rig).includes('failed to store directives, a restart applies earlier ones'));
    expect(messages(rig)).toContain('stored directives ignored');
  });

  test('a restart next to a running agent stays ready although a new rule forbids its manifest', async () => {
    const judgement = (allowed: boolean): object => ({
      ...{ manifestHash: 'x', allowed, organisation: RULES },
      findings: allowed
        ? []
        : [
            {
              ...{ policy: 'production', rule: 'tools', severity: 'high', action: 'Deny' },
              ...{ path: 'spec.tools', message: 'not allowed' },
            },
          ],
    });
    plane.status = 404;
    plane.judge = () => judgement(true);
    const first = await start(env());
    await until(async () => (await first.control('/readyz')).status === 200);
    await until(async () => (await kept()).opened);
    plane.judge = () => judgement(false);
    const restarted = await start(env());
    expect((await restarted.control('/readyz')).status).toBe(200);
    await aMoment();
    expect((await restarted.control('/readyz')).status).toBe(200);
    // The rules of the lanes are known at once.
    expect(await kept()).toMatchObject({ organisation: { revision: 'r1' } });
    await rm(join(folder, 'd.json'));
    const other = await start(env());
    await until(async () => (await other.report('/readyz'))['status'] === 'not-allowed');
  });

  test('is not used without a control plane, which alone could lift its stop', async () => {
    plane.first = documentOf(STOP);
    await start(env());
    await until(async () => (await kept()).stop !== null);
    const rig = await start({ ...env(), PLATFORM_URL: '', PLATFORM_KEY: '' });
    expect(await statusOf(rig)).toBe(200);
  });
});

describe('the annotation', () => {
  const file = (): string => join(folder, 'stop');
  beforeEach(() => {
    // The clock waits until the file was read.
    clock.loops = 1;
  });

  const local = (): Record<string, string> => ({
    ...{ PLATFORM_URL: '', PLATFORM_KEY: '' },
    STOP_ANNOTATION_FILE: file(),
  });

  test('stops and resumes within a second of its file, without a control plane', async () => {
    const rig = await start(local());
    expect(await statusOf(rig)).toBe(200);
    for (const [text, status] of [
      ['', 200],
      ['by hand\n', 503],
      ['  \n', 200],
      ['again', 503],
    ] as const) {
      await writeFile(file(), text);
      await clock.pass(1_000);
      expect(await statusOf(rig)).toBe(status);
    }
    await rm(file());
    await clock.pass(1_000);
    expect(await statusOf(rig)).toBe(200);
  });

  test('applies before the first request', async () => {
    await writeFile(file(), 'by hand');
    const rig = await start(local());
    expect(await statusOf(rig)).toBe(503);
    expect(await stopIn(rig)).toBe('pod-annotation');
  });

  test('is read through the links of a volume', async () => {
    const link = async (name: string, text: string): Promise<void> => {
      await mkdir(join(folder, name));
      await writeFile(join(folder, name, 'stop'), text);
      await symlink(name, join(folder, '..data-tmp'));
      await rename(join(folder, '..data-tmp'), join(folder, '..data'));
    };
    await link('..1', '');
    await symlink('..data/stop', file());
    const rig = await start(local());
    expect(await statusOf(rig)).toBe(200);
    await link('..2', 'x'.repeat(600));
    await clock.pass(1_000);
    expect(await statusOf(rig)).toBe(503);
  });

  test('a file that cannot be read changes nothing and is logged once', async () => {
    await writeFile(file(), 'by hand');
    const rig = await start(local());
    await rm(file());
    await mkdir(file());
    await clock.pass(5_000);
    expect(await statusOf(rig)).toBe(503);
    expect(messages(rig).filter((each) => each === 'stop annotation cannot be read')).toHaveLength(1);
  });
});
