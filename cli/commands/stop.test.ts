// platform stop and platform resume against an HTTP server with the routes of a control plane; with a cluster in stop.apiserver.test.ts.
import { afterEach, describe, expect, test } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { json as bodyOf } from 'node:stream/consumers';
import { commandFolder } from '../../testing/cli/command-folder.ts';
import { TestServers } from '../../testing/http/sockets.ts';
import type { CliContext } from '../context.ts';
import type { Rendered } from '../rendered.ts';

const { run } = commandFolder();
const KEY = 'admin-key-that-must-stay-hidden';
const env = { PLATFORM_ADMIN_KEY: KEY };
const servers = new TestServers();
afterEach(() => servers.close());

type Body = Record<string, unknown>;
interface Served {
  /** Namespace, slash, name. */
  agents?: Record<string, Body>;
  stops?: Body[];
  /** Status and detail of a rejection, by method. */
  rejects?: Record<string, [status: number, detail: string]>;
  stored?: boolean;
}

interface Sent {
  method: string;
  url: string;
  credential: unknown;
  body: unknown;
}

const SINCE = '2026-01-02T03:04:05.000Z';
const stopped = (instances: number, confirmed: number, reason = 'Stopped'): Body => ({
  phase: 'Healthy',
  instanceCount: instances,
  stop: { id: 'x/y', reason: 'leak', since: SINCE, instances, confirmed },
  conditions: [
    {
      ...{ type: 'Stopped', status: confirmed < instances ? 'Unknown' : 'True', reason, message: '' },
      lastTransitionTime: SINCE,
    },
  ],
});
const entry = (id: string, members: Body = {}): Body => {
  const [namespace, name] = id.split('/');
  return { id, namespace, name, reason: 'leak', since: SINCE, stored: true, ...members };
};
const detail = (key: string, status: Body): Body => ({
  ...{ agentId: 'a', agentName: key.split('/')[1], namespace: key.split('/')[0], runtime: 'k8s' },
  ...{ source: 'sidecar', lastSeen: SINCE, status },
});

/** A server with these agents and stops, and the changes that it received. */
async function serving({ agents = {}, stops = [], rejects = {}, stored = true }: Served) {
  const sent: Sent[] = [];
  const keys = Object.keys(agents);
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url = '', headers } = request;
    const { pathname, searchParams } = new URL(url, 'http://h');
    const body = method === 'POST' ? ((await bodyOf(request)) as Body) : undefined;
    if (method !== 'GET' || pathname === '/api/v1/stops')
      sent.push({ method, url, credential: headers['x-admin-key'] ?? headers.authorization, body });
    const reply = (status: number, value?: unknown): void =>
      void response.writeHead(status).end(value === undefined ? '' : JSON.stringify(value));
    const rejection = rejects[method];
    if (rejection) reply(rejection[0], { detail: rejection[1] });
    else if (method === 'DELETE') reply(stops.some(({ id }) => url.endsWith(String(id))) ? 204 : 404);
    else if (body?.['namespace'] === 'closed') reply(403, { detail: 'no right' });
    else if (method === 'POST') {
      const namespace = (body?.['namespace'] as string | undefined) ?? 'root';
      reply(stored ? 201 : 202, {
        ...entry(`${namespace}/stop-${sent.length}`, { ...body, namespace }),
        stored,
      });
    } else if (pathname === '/api/v1/stops') reply(200, stops);
    else if (pathname === '/api/v1/agents') {
      const namespace = searchParams.get('namespace');
      const page = keys.filter((key) => namespace === null || key.split('/')[0] === namespace);
      // One agent on each page.
      const at = Number(searchParams.get('continue') ?? '0');
      if (at + 1 < page.length) {
        searchParams.set('continue', String(at + 1));
        response.setHeader('link', `</api/v1/agents?${searchParams.toString()}>; rel="next"`);
      }
      const shown = page.slice(at, at + 1).map((key) => key.split('/'));
      reply(
        200,
        shown.map(([home, agentName]) => ({ namespace: home, agentName })),
      );
    } else {
      const key = `${searchParams.get('namespace')}/${pathname.split('/').at(-1)}`;
      reply(agents[key] ? 200 : 404, agents[key] && detail(key, agents[key]));
    }
  };
  const port = await servers.http((request, response) => void respond(request, response));
  const url = `http://127.0.0.1:${port}`;
  const platform = (args: string, context: Partial<CliContext> = {}): Promise<Rendered> =>
    run([...args.split(' '), '--url', url], { env, ...context });
  return { sent, url, platform };
}

const FLEET = { 'a/shop': stopped(5, 5), 'b/cart': stopped(1, 1), 'c/cart': stopped(2, 2) };

describe('platform stop', () => {
  test('creates a stop, waits for it and shows the state of each agent', async () => {
    const { platform, sent } = await serving({ agents: FLEET });
    expect(await platform('stop shop --reason leak --for 2h')).toMatchObject({
      output: [
        'created a/stop-1, until 2026-01-02T05:04:05.000Z',
        'NAMESPACE  AGENT  STATE    INSTANCES',
        'a          shop   Stopped  5 of 5',
        'Stopped (5 of 5 instances)',
        'to resume: platform resume a/stop-1\n',
      ].join('\n'),
      errors: '',
      exitCode: 0,
    });
    const body = { namespace: 'a', agents: ['shop'], reason: 'leak', until: '2026-01-02T05:04:05.000Z' };
    expect(sent).toEqual([{ method: 'POST', url: '/api/v1/stops', credential: KEY, body }]);
  });

  test.each<[args: string, bodies: Body[]]>([
    ['shop', [{ namespace: 'a', agents: ['shop'] }]],
    ['shop -n a', [{ namespace: 'a', agents: ['shop'] }]],
    ['sh* -n a', [{ namespace: 'a', agents: ['sh*'] }]],
    ['-n a', [{ namespace: 'a' }]],
    ['-n a -n b', [{ namespaces: ['a', 'b'] }]],
    ['-n prod-*', [{ namespaces: ['prod-*'] }]],
    ['shop -n prod-*', [{ namespaces: ['prod-*'], agents: ['shop'] }]],
    ['shop -n prod-* -n b', [{ namespaces: ['prod-*', 'b'], agents: ['shop'] }]],
    // There it would stop every namespace.
    ['-n platform-system', [{ namespaces: ['platform-system'] }]],
    ['-n root --release-namespace root', [{ namespaces: ['root'] }]],
    ['--all --yes', [{}]],
  ])('stop %s', async (args, bodies) => {
    const { platform, sent } = await serving({ agents: FLEET });
    const { exitCode } = await platform(`stop ${args} --reason leak --wait 0s`);
    expect(sent.map(({ body }) => body)).toEqual(bodies.map((each) => ({ ...each, reason: 'leak' })));
    expect(exitCode).toBe(0);
  });

  test('agents of several namespaces get a stop in each', async () => {
    const { platform, sent } = await serving({ agents: { ...FLEET, 'd/pay': stopped(1, 1) } });
    expect((await platform('stop shop pay --reason leak')).exitCode).toBe(0);
    expect(sent.map(({ body }) => body)).toEqual([
      { namespace: 'a', agents: ['shop'], reason: 'leak' },
      { namespace: 'd', agents: ['pay'], reason: 'leak' },
    ]);
  });

  test('of two stops, the one that is rejected is a warning and exit code 1', async () => {
    const { platform } = await serving({ agents: { ...FLEET, 'closed/pay': stopped(1, 1) } });
    for (const wait of ['0s', '1s']) {
      const { output, errors, exitCode } = await platform(`stop shop pay --reason leak --wait ${wait}`);
      expect([output.split('\n')[0], exitCode]).toEqual([expect.stringMatching(/^created a\/stop-/), 1]);
      expect(errors).toContain('returned 403 for POST /api/v1/stops: no right');
    }
  });

  test.each<[args: string, message: string]>([
    ['stop', 'error: pass names of agents, --namespace or --all, and --reason'],
    ['stop shop', 'error: --reason is required'],
    ['stop shop --all --reason leak', 'error: --all excludes names of agents and --namespace'],
    ['stop shop --for 2w --reason leak', 'Must be a number followed by s, m, h or d, such as 30s, 2h or 7d.'],
    ['stop shop --for 0s --reason leak', 'Must be a number followed by s, m, h or d, such as 30s, 2h or 7d.'],
    ['stop shop --wait 7d --reason leak', 'Must be a number followed by s, m or h, such as 90s or 5m.'],
    ['stop shop --reason a\nb', 'Must have 1 to 500 characters in one line.'],
    [`stop shop --reason ${'x'.repeat(501)}`, 'Must have 1 to 500 characters in one line.'],
    ['stop shop --direct --reason leak', "error: option '--url <url>' cannot be used with option '--direct'"],
    ['stop --all --reason leak', 'error: without a terminal, --all requires --yes'],
    ['stop sh* --reason leak', 'error: a pattern of agents requires --namespace'],
    ['stop shpo --reason leak', 'error: there is no agent shpo (did you mean shop?); to stop it before'],
    [
      'stop shop -n b --reason leak',
      "error: there is no agent shop in namespace b; to stop it before it starts, pass a pattern such as 'shop*'",
    ],
    ['stop cart --reason leak', 'error: cart exists in several namespaces: b, c; pass --namespace'],
    ['stop --list shop', 'error: --list excludes names of agents, --all and --reason'],
    ['resume', 'error: pass names of agents, ids of stops, --namespace or --all'],
    ['resume a/x --all', 'error: --all excludes names, ids and --namespace'],
    ['resume --all', 'error: without a terminal, --all requires --yes'],
  ])('%s changes nothing: %s', async (args, message) => {
    const { platform, sent } = await serving({ agents: FLEET, stops: [entry('a/x')] });
    const { output, errors, exitCode } = await platform(args);
    expect({ output, exitCode }).toEqual({ output: '', exitCode: 1 });
    expect(errors).toContain(message);
    expect(sent).toEqual([]);
  });

  test.each([
    ['all', 0],
    ['yes', 1],
    ['no', 1],
  ])('--all asks on a terminal, and the answer %s ends with %d', async (answer, exitCode) => {
    const { platform, sent } = await serving({ agents: FLEET });
    const asked: string[] = [];
    const ask = (question: string): Promise<string> => {
      asked.push(question);
      return Promise.resolve(answer);
    };
    const result = await platform('stop --all --reason leak', { ask });
    expect(result.exitCode).toBe(exitCode);
    expect(asked).toEqual(['This stops every agent of every namespace. Type all to continue']);
    expect(sent).toHaveLength(1 - exitCode);
  });

  test('reports instances that do not confirm, agents without lanes and idle agents', async () => {
    const agents = {
      'a/open': stopped(2, 2, 'IngressOnly'),
      'a/shop': stopped(5, 3, 'Stopping'),
      'a/idle': { phase: 'Pending', instanceCount: 0 },
      'a/late': { phase: 'Pending', instanceCount: 0, awaitedSince: SINCE },
    };
    const { platform } = await serving({ agents });
    const shown: string[] = [];
    const progress = (line: string): void => void shown.push(line);
    const { output, errors, exitCode } = await platform('stop -n a --reason leak --wait 1s', { progress });
    expect(output).toContain(
      [
        'NAMESPACE  AGENT  STATE        INSTANCES',
        'a          open   IngressOnly  2 of 2',
        'a          shop   Stopping     3 of 5',
        'a          idle   Idle         0 of 0',
        'a          late   Stopping     0 of 0',
        'Stopping (5 of 7 instances)',
      ].join('\n'),
    );
    expect(errors).toBe(
      'warning: IngressOnly: no egress lane stops the own calls of open; docs/guide/stop.md has a NetworkPolicy that does\n' +
        'warning: not every instance has confirmed the stop. It stays in force; platform stop --direct (with a kubeconfig) reaches the pods without a control plane\n',
    );
    expect(exitCode).toBe(1);
    expect(shown).toEqual(['created a/stop-1', 'Stopping (5 of 7 instances)']);
  });

  test('does not call an agent stopped whose own calls continue', async () => {
    const { platform } = await serving({ agents: { 'a/open': stopped(2, 2, 'IngressOnly') } });
    const { output, exitCode } = await platform('stop open --reason leak');
    expect([output.split('\n')[3], exitCode]).toEqual(['Requests rejected (2 of 2 instances)', 0]);
  });

  test('a stop that is not stored is a warning', async () => {
    const { platform } = await serving({ agents: FLEET, stored: false });
    const { errors, exitCode } = await platform('stop shop --reason leak');
    expect([errors, exitCode]).toEqual([
      'warning: a/stop-1 applies, but is not stored yet: the control plane stores it when its API server or database is back, and loses it if it restarts before\n',
      0,
    ]);
  });

  test('a token of the environment comes before the admin key, and neither is shown', async () => {
    const rejects = { GET: [403, 'no right'], POST: [403, 'no right'] } as const;
    const { platform, sent, url } = await serving({ rejects: { ...rejects } as never });
    const { errors } = await platform('stop -n a --reason leak', { env: { ...env, PLATFORM_TOKEN: 'ttt' } });
    expect(sent[0]?.credential).toBe('Bearer ttt');
    expect(errors).toBe(
      `error: ${url} returned 403 for POST /api/v1/stops: no right; the request had the token of PLATFORM_TOKEN\n`,
    );
    const none = await platform('stop -n a --reason leak', { env: {} });
    expect(none.errors).toBe(
      'error: no credential for the control plane: set PLATFORM_TOKEN or PLATFORM_ADMIN_KEY, or pass --admin-key-file\n',
    );
    expect((await platform('stop -n a --reason leak')).errors).toContain(
      'the request had the key of PLATFORM_ADMIN_KEY or --admin-key-file',
    );
  });

  test.each<[status: number, text: string]>([
    [
      404,
      'it is not a control plane that stops agents, or an earlier version; in a cluster, use a kubeconfig instead of --url',
    ],
    [503, 'in a cluster, use a kubeconfig instead of --url, with --direct if no control plane runs'],
  ])('status %d has advice', async (status, text) => {
    const { platform } = await serving({ rejects: { POST: [status, 'away'] } });
    const { errors, exitCode } = await platform('stop -n a --reason leak');
    expect(errors).toContain(`returned ${status} for POST /api/v1/stops: away; ${text}`);
    expect(exitCode).toBe(1);
  });

  test('no control plane, and no cluster', async () => {
    const port = await servers.closedPort();
    const { errors } = await run(`stop -n a --reason leak --url http://127.0.0.1:${port}`, { env });
    expect(errors).toMatch(
      /^error: cannot connect to http:\/\/127\.0\.0\.1:\d+: .*; in a cluster, use a kubeconfig instead of --url, with --direct if no control plane runs\n$/,
    );
    const nowhere = await run('stop -n a --reason leak', { env: { HOME: '/nowhere' } });
    expect(nowhere.errors).toBe(
      'error: no cluster configured; pass --kubeconfig or set KUBECONFIG, or pass --url of a control plane\n',
    );
  });

  test('--list shows the stops, all or those of a namespace', async () => {
    const stops = [
      entry('a/x', { agents: ['shop', 'cart'], by: 'alice', until: SINCE }),
      entry('platform-system/y', { namespaces: ['prod-*'], stored: false }),
      entry('platform-system/z'),
    ];
    const { platform } = await serving({ stops });
    expect((await platform('stop --list')).output).toBe(
      [
        'STOP               NAMESPACES  AGENTS     REASON  BY     UNTIL                     STOPPED  PENDING',
        `a/x                a           shop,cart  leak    alice  ${SINCE}  -        -`,
        'platform-system/y  prod-*      *          leak           not stored yet            -        -',
        'platform-system/z  *           *          leak                                     -        -\n',
      ].join('\n'),
    );
    expect(JSON.parse((await platform('stop --list --output json')).output)).toEqual({ stops });
    const ids = async (args: string): Promise<unknown[]> => {
      const { output } = await platform(`stop --list ${args} --json`);
      return (JSON.parse(output) as { stops: Body[] }).stops.map(({ id }) => id);
    };
    expect(await ids('-n a')).toEqual(['a/x', 'platform-system/z']);
    expect(await ids('-n prod-*')).toEqual(['platform-system/y', 'platform-system/z']);
    const none = await serving({});
    expect((await none.platform('stop --list')).output).toBe('there are no stops\n');
  });

  test('--json prints one document', async () => {
    const { platform } = await serving({ agents: FLEET });
    const { output } = await platform('stop shop --reason leak --json');
    expect(JSON.parse(output)).toEqual({
      stops: [entry('a/stop-1', { agents: ['shop'] })],
      agents: [{ namespace: 'a', name: 'shop', state: 'Stopped', instances: 5, confirmed: 5 }],
      ...{ pods: 0, warnings: [], confirmed: true },
    });
  });
});

describe('platform resume', () => {
  const SHOP = entry('a/shop', { agents: ['shop'] });
  const BOTH = entry('a/both', { agents: ['shop', 'cart'] });
  const TEAM = entry('a/team');
  const OTHER = entry('b/shop', { agents: ['shop'] });
  const FLEET_STOP = entry('platform-system/all');
  const PROD = entry('platform-system/prod', { namespaces: ['prod-*'] });

  test.each<[args: string, stops: Body[], deleted: string[], remaining: string[]]>([
    ['shop', [SHOP], ['a/shop'], []],
    ['shop', [SHOP, BOTH, TEAM, PROD], ['a/shop'], ['a/both', 'a/team']],
    ['shop -n a', [SHOP, OTHER, FLEET_STOP], ['a/shop'], ['platform-system/all']],
    ['shop cart', [SHOP, BOTH], ['a/shop', 'a/both'], []],
    ['shop', [BOTH], [], ['a/both']],
    ['-n a', [SHOP, TEAM, OTHER], ['a/shop', 'a/team'], []],
    ['-n prod-*', [PROD, TEAM], ['platform-system/prod'], []],
    ['a/both', [SHOP, BOTH], ['a/both'], []],
    ['--all --yes', [SHOP, FLEET_STOP], ['a/shop', 'platform-system/all'], []],
  ])('resume %s of %j', async (args, stops, deleted, remaining) => {
    const { platform, sent } = await serving({ stops });
    const { output, exitCode } = await platform(`resume ${args} --json`);
    const ids = (member: string) =>
      (JSON.parse(output) as Record<string, Body[]>)[member]?.map(({ id }) => id);
    expect(sent.slice(1).map(({ method, url }) => `${method} ${url}`)).toEqual(
      deleted.map((id) => `DELETE /api/v1/stops/${id}`),
    );
    expect([ids('resumed'), ids('remaining')]).toEqual([deleted, remaining]);
    expect(exitCode).toBe(remaining.length > 0 ? 1 : 0);
  });

  test.each<[args: string, message: string]>([
    ['shop', 'error: agents of several namespaces are meant: a, b; pass --namespace\n'],
    [
      'shpo',
      'error: nothing to resume: no stop applies (did you mean shop?); only a kubeconfig reaches the annotation platform.io/stop of pods; platform stop --list shows all stops\n',
    ],
    ['a/shpo', 'warning: there is no stop a/shpo (did you mean a/shop?)\n'],
  ])('resume %s is rejected', async (args, message) => {
    const { platform, sent } = await serving({ stops: [SHOP, OTHER] });
    expect(await platform(`resume ${args}`)).toMatchObject({ output: '', errors: message, exitCode: 1 });
    expect(sent.map(({ method }) => method)).toEqual(['GET']);
  });

  test('shows what it deleted, and what still stops the agent', async () => {
    const { platform } = await serving({ stops: [SHOP, TEAM] });
    expect(await platform('resume shop')).toMatchObject({
      output: 'deleted a/shop: leak\n',
      errors:
        'warning: a/team still applies (leak), and also concerns other agents; to end it for all of them: platform resume a/team\n',
    });
  });

  test('a stop that cannot be deleted is a problem', async () => {
    const { platform } = await serving({
      stops: [SHOP],
      rejects: { DELETE: [503, 'the API server is away'] },
    });
    const { output, errors, exitCode } = await platform('resume shop');
    expect([output, exitCode]).toEqual(['', 1]);
    expect(errors).toContain('returned 503 for DELETE /api/v1/stops/a/shop: the API server is away');
  });
});
