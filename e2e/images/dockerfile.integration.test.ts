import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { imageOf, writeTargets, stagesOf, targetsOf } from './dockerfile.ts';

const DOCKERFILE = `
# built elsewhere
FROM --platform=$BUILDPLATFORM node AS build
RUN make

FROM somewhere/distroless:nonroot AS base
WORKDIR /app
ENV NODE_ENV=production
LABEL a.licence=Apache-2.0 a.title=all
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node"]

FROM base AS web
LABEL a.title=web a.description="What it is, in words"
COPY --from=build /src/dist/web/main.js \\
     dist/web/
COPY --from=build /src/policies/ /policies/
EXPOSE 80 81
CMD ["dist/web/main.js"]

FROM base AS other
WORKDIR sub
ENTRYPOINT ["/bin/other"]
`;

const ROOT = join(import.meta.dirname, '../..');
const DOCKERFILE_TEXT = readFileSync(join(ROOT, 'images/Dockerfile'), 'utf8');

const BASE_ENV = [
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
];

describe('reading a Dockerfile', () => {
  const stages = stagesOf(DOCKERFILE);

  test('treats stages that build on another stage as targets', () => {
    expect(targetsOf(stages)).toEqual(['web', 'other']);
  });

  test("adds a target's instructions to those of its base", () => {
    expect(imageOf(stages, 'web')).toEqual({
      config: {
        User: '65532:65532',
        WorkingDir: '/app',
        Env: [...BASE_ENV, 'NODE_ENV=production'],
        Entrypoint: ['/nodejs/bin/node'],
        Cmd: ['dist/web/main.js'],
        ExposedPorts: { '80/tcp': {}, '81/tcp': {} },
        Labels: { 'a.licence': 'Apache-2.0', 'a.title': 'web', 'a.description': 'What it is, in words' },
      },
      copies: [
        { source: 'dist/web/main.js', destination: '/app/dist/web/main.js' },
        { source: 'policies/', destination: '/policies' },
      ],
    });
  });

  test('resolves a relative directory, and a new entrypoint resets the command', () => {
    expect(imageOf(stages, 'other').config).toMatchObject({
      WorkingDir: '/app/sub',
      Entrypoint: ['/bin/other'],
    });
    expect(imageOf(stagesOf('FROM x\nCMD ["a"]\nENTRYPOINT ["b"]'), '0').config).not.toHaveProperty('Cmd');
  });

  test.each([
    ['RUN chmod 0 /app', 'target t: RUN chmod 0 /app cannot be reproduced without Docker'],
    ['LABEL a=$B', 'target t: LABEL a=$B is not supported: only plain values are allowed'],
    ['LABEL a=b c', 'target t: LABEL a=b c is not supported: only plain values are allowed'],
    ['COPY main.js /app/', 'target t: COPY main.js /app/ must copy only from the stages build and cache'],
    ['COPY --from=build /src/*.js /app/', 'target t: COPY /src/*.js is not a plain path under /src/'],
    ['COPY --from=build /etc/passwd /etc/', 'target t: COPY /etc/passwd is not a plain path under /src/'],
  ])('rejects instructions that cannot be reproduced by copying: %s', (instruction, message) => {
    expect(() => imageOf(stagesOf(`FROM base AS t\n${instruction}\n`), 't')).toThrow(message);
  });

  test('throws for an unknown stage and names it', () => {
    expect(() => imageOf(stages, 'wbe')).toThrow('the Dockerfile has no stage "wbe"');
  });
});

describe('writing targets', () => {
  const TWO = `FROM x AS base
FROM base AS web
COPY --from=build /src/web.js /app/
FROM base AS other
COPY --from=build /src/other.js /app/
`;
  let root: string;
  let out: string;
  const write = (path: string, text: string) => writeFileSync(join(root, path), text);
  const written = (path: string) => readFileSync(join(out, path), 'utf8');

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'dockerfile-'));
    out = join(root, 'out');
    mkdirSync(join(root, 'images'));
    write('images/Dockerfile', TWO);
    write('web.js', 'web 1');
    write('other.js', 'other 1');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  test('writes the named targets and keeps the others', () => {
    expect(writeTargets(root, out, '')).toEqual(['web', 'other']);
    write('web.js', 'web 2');
    write('other.js', 'other 2');
    expect(writeTargets(root, out, ' other\n')).toEqual(['web', 'other']);
    expect([written('web/rootfs/app/web.js'), written('other/rootfs/app/other.js')]).toEqual([
      'web 1',
      'other 2',
    ]);
  });

  test('omits targets that were never written or no longer exist', () => {
    expect(writeTargets(root, out, 'other')).toEqual(['other']);
    write('images/Dockerfile', TWO.replace('AS other', 'AS third'));
    expect(writeTargets(root, out, 'web')).toEqual(['web']);
  });

  test('removes the previous content of a target', () => {
    writeTargets(root, out, '');
    write('images/Dockerfile', TWO.replace('web.js /app/', 'web.js /else/'));
    writeTargets(root, out, 'web');
    expect(existsSync(join(out, 'web/rootfs/app/web.js'))).toBe(false);
    expect(written('web/rootfs/else/web.js')).toBe('web 1');
  });

  test.each(['wbe', 'base'])('rejects %s, which is not a target', (name) => {
    expect(() => writeTargets(root, out, `web ${name}`)).toThrow(
      `the Dockerfile has no target "${name}"; targets: web, other`,
    );
    expect(existsSync(out)).toBe(false);
  });
});

describe('images/Dockerfile', () => {
  const stages = stagesOf(DOCKERFILE_TEXT);

  test('builds on the native platform and runs nothing in targets, so targets are independent of the architecture', () => {
    expect(DOCKERFILE_TEXT).toMatch(/^FROM --platform=\$BUILDPLATFORM \S+ AS build$/m);
    const { copies } = imageOf(stages, 'base');
    expect(copies.map(({ destination }) => destination)).toContain('/app/LICENSE');
    for (const target of targetsOf(stages)) {
      const { inputs } = JSON.parse(readFileSync(join(ROOT, `dist/${target}/meta.json`), 'utf8')) as {
        inputs: Record<string, unknown>;
      };
      expect(Object.keys(inputs).filter((path) => !/\.([cm]?[jt]s|json|css|html)$/.test(path))).toEqual([]);
    }
  });

  test.each(targetsOf(stages))(
    '%s contains the licences of its bundle and has descriptive labels',
    (target) => {
      const { config, copies } = imageOf(stages, target);
      expect(copies).toContainEqual({
        source: `dist/${target}/THIRD-PARTY-NOTICES`,
        destination: '/app/THIRD-PARTY-NOTICES',
      });
      expect(config.Labels).toMatchObject({
        'org.opencontainers.image.title': target,
        'org.opencontainers.image.description': expect.stringMatching(/\w+ \w+/),
        'org.opencontainers.image.licenses': 'Apache-2.0',
      });
    },
  );

  test.each(targetsOf(stages))('%s contains the bundles that its bundle loads', (target) => {
    const { outputs } = JSON.parse(readFileSync(join(ROOT, `dist/${target}/meta.json`), 'utf8')) as {
      outputs: Record<string, { imports: { path: string; external?: boolean }[] }>;
    };
    const sources = imageOf(stages, target).copies.map(({ source }) => source);
    const loaded = Object.values(outputs)
      .flatMap(({ imports }) => imports)
      .filter(({ path, external }) => external === true && path.startsWith('../'));
    for (const { path } of loaded) expect(sources).toContain(`dist/${path.slice(3)}`);
  });

  test.each(targetsOf(stages))('%s runs its bundle with Node.js as a non-root user', (target) => {
    const { config, copies } = imageOf(stages, target);
    expect(config).toMatchObject({
      User: '65532:65532',
      WorkingDir: '/app',
      // Decision 102.
      Entrypoint: ['/nodejs/bin/node', ...(target === 'sidecar' ? ['--v8-pool-size=1'] : [])],
      Cmd: [`dist/${target}/main.js`],
    });
    // The sidecar's bundle has a code cache and a loader.
    const name = target === 'sidecar' ? 'bundle.js' : 'main.js';
    expect(copies).toContainEqual({
      source: `dist/${target}/main.js`,
      destination: `/app/dist/${target}/${name}`,
    });
  });
});
