import { describe, expect, test } from '@jest/globals';
import { injectionSettings, optedInPod } from '../../testing/cluster/pods.ts';
import fc, { anyCharacter, runs } from '../../testing/random/properties.ts';
import { ANNOTATIONS } from './annotations.ts';
import { decide } from './decide.ts';
import { inject } from './inject.ts';
import { parseInjected } from './injected.ts';
import type { Pod } from './pod.ts';

const settings = injectionSettings({ allowedImages: ['good.example/sidecar:1'] });
const NAMES = Object.values(ANNOTATIONS).map(({ name }) => name);

/** Values that could be misread as structure, or that are too large. */
const HOSTILE: [string, string][] = [
  ['YAML', 'x\nspec:\n  hostNetwork: true'],
  ['a YAML anchor', '&a [*a, *a]'],
  ['a YAML tag', '!!binary aGk='],
  ['a second document', '---\nkind: Pod'],
  ['JSON', '{"op":"remove","path":"/spec"}'],
  ['the end of a JSON text', '"},{"op":"add","path":"/spec/hostNetwork","value":true}'],
  ['a line feed', 'a\nb'],
  ['a carriage return', 'a\rb'],
  ['a NUL', 'a\u0000b'],
  ['a terminal sequence', '\u001b[2J\u001b]0;x\u0007'],
  ['a right-to-left override', 'a\u202eb'],
  ['a zero-width joiner', 'a\u200db'],
  ['letters that look like other letters', '\u0430gent'],
  ['half of a surrogate pair', 'a\ud800'],
  ['emoji', '🤖'],
  ['256 KB', 'a'.repeat(256 * 1024)],
  ['256 KB of quotes', '"'.repeat(256 * 1024)],
  ['a Helm template', '{{ .Values.x | toYaml }}'],
  ['a Kubernetes variable reference', '$(POD_IP)'],
  ['a shell command', '$(curl x)`id`${HOME}; rm -rf /'],
  ['a path', '../../etc/passwd'],
  ['a URL', 'http://169.254.169.254/'],
  ['HTML', '<script>alert(1)</script>'],
  ['a flag', '--inspect=0.0.0.0'],
  ['an empty text', ''],
  ['a space', ' '],
  ['a number followed by text', '8000 9000'],
  ['digits of another alphabet', '\u0668\u0660\u0660\u0660'],
  ['infinity', 'Infinity'],
  ['a huge quantity', `${'9'.repeat(400)}Gi`],
  ['a negative quantity', '-1'],
  ['an inherited property name', '__proto__'],
];

describe('a hostile value', () => {
  test.each(HOSTILE)('is rejected in every annotation of the product: %s', (_kind, value) => {
    // The reason of a stop is any text of one line; the next test is about it.
    for (const name of NAMES.filter((each) => each !== ANNOTATIONS.stop.name)) {
      const decision = decide(optedInPod({ annotations: { [name]: value } }), settings);
      const codes = decision.action === 'refuse' ? decision.rejections.map(({ code }) => code) : [];
      // Many texts are valid image references; these are rejected because they are not on the allow-list.
      const allowedCodes =
        name === ANNOTATIONS.image.name
          ? ['annotation-invalid', 'image-not-allowed']
          : ['annotation-invalid'];
      expect([name, allowedCodes]).toEqual([name, expect.arrayContaining(codes)]);
      expect([name, codes.length]).toEqual([name, 1]);
    }
  });

  test.each(HOSTILE)('stays data in a foreign annotation: %s', (_kind, value) => {
    const plain = structureOf(injected(optedInPod({ annotations: { 'example.com/x': 'plain' } })));
    const pod = injected(optedInPod({ annotations: { 'example.com/x': value } }));
    expect(pod.metadata?.annotations?.['example.com/x']).toBe(value);
    expect(structureOf(pod)).toEqual(plain);
    if (ANNOTATIONS.stop.read(value).ok)
      expect(structureOf(injected(optedInPod({ annotations: { [ANNOTATIONS.stop.name]: value } })))).toEqual(
        plain,
      );
  });

  test.each(HOSTILE)(
    'results in a rejection of one line with less than 900 characters: %s',
    (_kind, value) => {
      const pods: Pod[] = [
        ...NAMES.map((name) => optedInPod({ annotations: { [name]: value } })),
        optedInPod({ metadata: { name: value } }),
        optedInPod({ metadata: { labels: { 'platform.io/agent': value } } }),
        optedInPod({ metadata: { labels: { 'platform.io/agent-name': value } } }),
        optedInPod({ spec: { os: { name: value } } }),
        optedInPod({ spec: { nodeSelector: { 'kubernetes.io/os': value } } }),
        optedInPod({ spec: { containers: [{ name: value, ports: [{ containerPort: 4000 }] }] } }),
        optedInPod({
          spec: {
            containers: [
              { name: 'a', ports: [{ containerPort: 1, name: value }] },
              { name: value, ports: [{ containerPort: 2, name: value }] },
            ],
          },
        }),
        optedInPod({
          annotations: { 'platform.io/agent-container': 'b' },
          spec: { containers: [{ name: value }] },
        }),
        optedInPod({ annotations: { [`platform.io/${value}`]: 'x' } }),
      ];
      for (const pod of pods) {
        const decision = decide(pod, settings);
        const texts =
          decision.action === 'refuse'
            ? decision.rejections.map(({ message }) => message)
            : decision.action === 'inject'
              ? decision.warnings
              : [];
        for (const text of texts) {
          expect(text.length).toBeLessThan(900);
          // oxlint-disable-next-line no-control-regex -- this test is about control characters
          expect(text).not.toMatch(/[\u0000-\u001f\u007f]/);
          expect(text.isWellFormed()).toBe(true);
        }
      }
    },
  );

  test('limits the number of warnings for many unknown annotations', () => {
    const many = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`platform.io/x${index}`, '']),
    );
    const decision = decide(optedInPod({ annotations: many }), settings);
    expect(decision).toMatchObject({
      action: 'inject',
      warnings: expect.arrayContaining(['4995 more annotations are not known to the injector']),
    });
    expect(decision.action === 'inject' && decision.warnings.length).toBe(6);
  });
});

test('adds the same members and changes nothing else for any annotations', () => {
  // The annotations that add members.
  const adding = [
    'platform.io/otlp',
    'platform.io/sidecar-cpu-limit',
    'platform.io/identity-header',
    'platform.io/identity-proxies',
  ];
  const annotations = fc.dictionary(
    fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: anyCharacter(), maxLength: 30 })),
    fc.oneof(
      fc.string({ unit: anyCharacter(), maxLength: 60 }),
      fc.constantFrom(...HOSTILE.map(([, value]) => value.slice(0, 200))),
      fc.constantFrom('8000', 'track', '128Mi', '500m', 'debug', 'true', 'agent', 'good.example/sidecar:1'),
    ),
    { maxKeys: 8 },
  );
  const RUNS = runs(2_000);
  let injections = 0;
  fc.assert(
    fc.property(annotations, (given) => {
      const pod = optedInPod({ annotations: { ...given, 'platform.io/inject': 'true' } });
      const decision = decide(pod, settings);
      if (decision.action !== 'inject') return;
      injections += 1;
      const after = inject(pod, decision, settings);
      const kept = Object.fromEntries(Object.entries(given).filter(([name]) => adding.includes(name)));
      expect(structureOf(after)).toEqual(structureOf(injected(optedInPod({ annotations: kept }))));
      expect(after.metadata?.annotations).toMatchObject(pod.metadata?.annotations ?? {});
    }),
    { numRuns: RUNS },
  );
  expect(injections).toBeGreaterThan(0.15 * RUNS);
});

function injected(pod: Pod): Pod {
  const decision = decide(pod, settings);
  if (decision.action !== 'inject') throw new Error(`not injected: ${JSON.stringify(decision)}`);
  return inject(pod, decision, settings);
}

/** The paths and types of all members except the annotations. A value changes these only if it is misread as structure. */
function structureOf({ metadata, ...pod }: Pod): string[] {
  const paths = (value: unknown, path: string): string[] =>
    typeof value === 'object' && value !== null
      ? [path, ...Object.entries(value).flatMap(([key, member]) => paths(member, `${path}/${key}`))]
      : [`${path}: ${typeof value}`];
  const { annotations: _annotations, ...rest } = metadata ?? {};
  return paths({ ...pod, metadata: rest }, '').filter((path) => !path.includes('/ports/'));
}

test('a record with more entries than an injection writes is not valid', () => {
  const record = { version: '1', config: 'c', agent: { container: 'agent', port: 8000 }, ownLabel: false };
  const parsed = (restore: number, env: number) =>
    parseInjected({
      annotations: {
        'platform.io/injected': JSON.stringify({
          ...record,
          restore: Array(restore).fill(['ports/0/name', 'http']),
          env: Array(env).fill(['A', 'x']),
        }),
      },
    });
  expect(parsed(1_000, 1_000)).toMatchObject(record);
  expect([parsed(1_001, 0), parsed(0, 1_001)]).toEqual([null, null]);
});
