import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { manifestText } from '../testing/manifests/manifest-text.ts';
import { commandFolder } from '../testing/cli/command-folder.ts';
import { TestServers } from '../testing/http/sockets.ts';

const { at, read, run, write } = commandFolder();

/** Commands that write to an existing file, and what must stay as it was. */

const MANIFEST = manifestText(
  '  evaluation: { framework: deepeval, datasets: [{ name: smoke, path: smoke.jsonl }] }\n',
);
const OLD = MANIFEST.replace('platform.io/v1', 'agentspec.io/v1').replace('PlatformAgent', 'AgentSpec');
const POD =
  'apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\n  annotations:\n    platform.io/inject: "true"\nspec:\n  containers:\n    - name: agent\n      image: agent:1\n      ports:\n        - containerPort: 8000\n';
const AGENTS = '# Agents\n\nAll agents of this project.\n';

interface Row {
  args: string[];
  /** The file that is written. */
  file: string;
  /** Its text before. Absent: that of an earlier run, for another manifest. */
  before?: string;
  /** A command that changes it before the test. */
  setup?: string[];
  /** Its other text stays as it is. */
  isEdited?: true;
}

const ROWS: Readonly<Record<string, Row>> = {
  migrate: { args: ['migrate', 'old.yaml'], file: 'old.yaml', before: OLD, isEdited: true },
  'migrate -o': { args: ['migrate', 'old.yaml', '-o', 'new.yaml'], file: 'new.yaml', before: 'x\n' },
  'export --into': {
    args: ['export', 'agent.yaml', '--format', 'agents-md-block', '--into', 'AGENTS.md'],
    ...{ file: 'AGENTS.md', before: AGENTS, isEdited: true },
  },
  'inject --output': {
    args: ['inject', 'pod.yaml', '--output', 'pod.yaml'],
    file: 'pod.yaml',
    before: POD,
    isEdited: true,
  },
  'uninject --output': {
    args: ['uninject', 'pod.yaml', '--output', 'pod.yaml'],
    file: 'pod.yaml',
    before: POD,
    setup: ['inject', 'pod.yaml', '--output', 'pod.yaml'],
    isEdited: true,
  },
  'inject --output to a directory': {
    args: ['inject', 'pod.yaml', 'old.yaml', '--output', 'out'],
    file: 'out/pod.yaml',
    before: 'x\n',
  },
  'audit --output': {
    args: ['audit', 'agent.yaml', '--output', 'audit.json'],
    file: 'audit.json',
    before: '{}\n',
  },
  'evaluate --junit': {
    args: ['evaluate', 'agent.yaml', '--url', 'URL', '--dataset', 'smoke', '--junit', 'junit.xml'],
    ...{ file: 'junit.xml', before: '<x/>\n' },
  },
  'scan --update': {
    args: ['scan', '--dir', '.', '--no-llm', '--update'],
    file: 'agent.yaml',
    before: MANIFEST,
  },
  'scan --out': {
    args: ['scan', '--dir', '.', '--no-llm', '--out', 'scanned.yaml'],
    file: 'scanned.yaml',
    before: 'x\n',
  },
  'generate --force': {
    args: ['generate', 'agent.yaml', '--deploy', 'k8s', '--force', '--output', 'out'],
    file: 'out/k8s/manifest-configmap.yaml',
  },
  'generate-policy': { args: ['generate-policy', 'agent.yaml', '--out', 'policy'], file: 'policy/data.json' },
  'generate-egress': {
    args: ['generate-egress', 'agent.yaml', '--out', 'egress.yaml'],
    file: 'egress.yaml',
    before: 'x\n',
  },
};
const NAMES = Object.keys(ROWS);
const EDITED = NAMES.filter((name) => ROWS[name]?.isEdited);
/** `scan --update` does not write through a link. */
const LINKED = NAMES.filter((name) => name !== 'scan --update');
const CREATED = LINKED.filter((name) => !EDITED.includes(name));

const isRoot = process.getuid?.() === 0;
const describeAsRoot = isRoot ? describe : describe.skip;
const OTHER_USER = 65_534;
const servers = new TestServers();
let url: string;

beforeAll(async () => {
  const port = await servers.http((_request, response) =>
    response.end(JSON.stringify({ response: 'Paris' })),
  );
  url = `http://127.0.0.1:${port}`;
});
afterAll(() => servers.close());
beforeEach(() => {
  write('agent.yaml', MANIFEST);
  write('old.yaml', OLD);
  write('pod.yaml', POD);
  write('smoke.jsonl', '{"input":"x","expected":"paris"}\n');
  writeFileSync(
    at('agent.py'),
    'from openai import OpenAI\nOpenAI().chat.completions.create(model="gpt-5")\n',
  );
});

function rowOf(name: string): Row {
  const row = ROWS[name];
  if (row === undefined) throw new Error(`no row ${name}`);
  return row;
}

const runRow = ({ args }: Row) => run(args.map((arg) => (arg === 'URL' ? url : arg)));

/** Writes the file that the command will replace. */
async function prepare(row: Row): Promise<void> {
  if (row.before !== undefined) {
    write(row.file, row.before);
    if (row.setup !== undefined) await runRow({ ...row, args: row.setup });
    return;
  }
  await runRow(row);
  writeFileSync(
    at('agent.yaml'),
    MANIFEST.replace('1.0.0', '2.0.0').replace('spec:\n', 'spec:\n  tools: [{ name: search }]\n'),
  );
}

/** Runs the command and expects a new text in the file, and no other new file. */
async function runAndExpectChange(row: Row): Promise<void> {
  const before = read(row.file);
  const { errors, exitCode } = await runRow(row);
  expect({ errors: /^error:.*/m.exec(errors)?.[0], exitCode }).toEqual({ errors: undefined, exitCode: 0 });
  expect(read(row.file)).not.toBe(before);
  expect(readdirSync(at(), { recursive: true }).filter((file) => String(file).endsWith('.tmp'))).toEqual([]);
}

test.each(NAMES)('%s keeps the mode', async (name) => {
  const row = rowOf(name);
  await prepare(row);
  chmodSync(at(row.file), 0o640);
  await runAndExpectChange(row);
  expect(statSync(at(row.file)).mode & 0o7777).toBe(0o640);
});

describeAsRoot('as root', () => {
  test.each(NAMES)('%s keeps owner, group and special bits', async (name) => {
    const row = rowOf(name);
    await prepare(row);
    chownSync(at(row.file), 1234, 2345);
    chmodSync(at(row.file), 0o4755);
    await runAndExpectChange(row);
    const { uid, gid, mode } = statSync(at(row.file));
    expect({ uid, gid, mode: mode & 0o7777 }).toEqual({ uid: 1234, gid: 2345, mode: 0o4755 });
  });
});

test.each(LINKED)('%s keeps a symbolic link', async (name) => {
  const row = rowOf(name);
  await prepare(row);
  mkdirSync(at('real'));
  renameSync(at(row.file), at('real/file'));
  symlinkSync(at('real/file'), at(row.file));
  await runAndExpectChange(row);
  expect(lstatSync(at(row.file)).isSymbolicLink()).toBe(true);
});

test.each(CREATED)('%s creates the missing target of a symbolic link', async (name) => {
  const row = rowOf(name);
  await prepare(row);
  rmSync(at(row.file));
  mkdirSync(at('real'));
  symlinkSync(at('real/file'), at(row.file));
  expect((await runRow(row)).exitCode).toBe(0);
  expect(lstatSync(at(row.file)).isSymbolicLink()).toBe(true);
  expect(existsSync(at('real/file'))).toBe(true);
});

test.each(NAMES)('%s keeps a hard link', async (name) => {
  const row = rowOf(name);
  await prepare(row);
  linkSync(at(row.file), at('other-name'));
  await runAndExpectChange(row);
  expect(read('other-name')).toBe(read(row.file));
});

test.each(NAMES)('%s keeps line ends and the byte order mark', async (name) => {
  const row = rowOf(name);
  await prepare(row);
  write(row.file, `\ufeff${read(row.file).replaceAll('\n', '\r\n')}`);
  await runAndExpectChange(row);
  const text = read(row.file);
  expect(text.startsWith('\ufeff')).toBe(true);
  expect(text.lastIndexOf('\ufeff')).toBe(0);
  expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
});

describe('as a user without the right', () => {
  /** Root may write everything. The modules are already loaded, so that only the files of the test are accessed. */
  async function asUser(action: () => Promise<void>): Promise<void> {
    if (isRoot) process.seteuid?.(OTHER_USER);
    try {
      await action();
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  }

  const giveAway = (): void => {
    if (!isRoot) return;
    for (const path of ['', ...(readdirSync(at(), { recursive: true }) as string[])])
      chownSync(at(path), OTHER_USER, OTHER_USER);
  };

  async function expectRefusal(row: Row): Promise<void> {
    const before = read(row.file);
    const files = readdirSync(at(), { recursive: true });
    await asUser(async () => {
      const { errors, exitCode } = await runRow(row);
      expect(errors).toMatch(/^error: cannot write .*: permission denied$/m);
      expect(exitCode).toBe(1);
    });
    expect(read(row.file)).toBe(before);
    expect(readdirSync(at(), { recursive: true })).toEqual(files);
  }

  test.each(NAMES)('%s does not replace a read-only file', async (name) => {
    const row = rowOf(name);
    await prepare(row);
    giveAway();
    chmodSync(at(row.file), 0o444);
    await expectRefusal(row);
  });

  test.each(NAMES)('%s changes nothing in a read-only directory', async (name) => {
    const row = rowOf(name);
    await prepare(row);
    giveAway();
    chmodSync(dirname(at(row.file)), 0o555);
    await expectRefusal(row);
    chmodSync(dirname(at(row.file)), 0o755);
  });

  describeAsRoot('a file of root', () => {
    test.each(NAMES)('%s writes it in place', async (name) => {
      const row = rowOf(name);
      await prepare(row);
      giveAway();
      chownSync(at(row.file), 0, 0);
      chmodSync(at(row.file), 0o666);
      await asUser(() => runAndExpectChange(row));
      expect(statSync(at(row.file))).toMatchObject({ uid: 0, gid: 0 });
    });
  });
});

test('a new file of generate for secrets is readable by its owner only', async () => {
  await run('generate agent.yaml --deploy k8s --push --output out');
  for (const file of ['out/.env.platform', 'out/k8s/secret.yaml.example'])
    expect(statSync(at(file)).mode & 0o777).toBe(0o600);
  expect(statSync(at('out/k8s/service.yaml')).mode & 0o444).toBe(0o444);
});

test('init neither replaces a file nor follows a link', async () => {
  rmSync(at('agent.yaml'));
  symlinkSync('none', at('agent.yaml'));
  expect((await run('init . --yes')).errors).toContain('agent.yaml already exists');
  expect(existsSync(at('none'))).toBe(false);
  appendFileSync(at('none'), 'x');
  expect((await run('init . --yes')).exitCode).toBe(1);
  expect(read('none')).toBe('x');
});
