import { describe, expect, test } from '@jest/globals';
import { holdsSecret, isSecretPath, redacted } from './secrets.ts';
import { sourceOf } from './source.ts';

test.each([
  '.env',
  '.env.local.ts',
  'app/.ssh/config.py',
  'secrets.py',
  'secrets/keys.py',
  'my-credentials.js',
  'api_keys.ts',
  'private-key.mjs',
  'db.password.js',
])('%s looks like secrets', (path) => {
  expect(isSecretPath(path)).toBe(true);
});

test.each(['environment.py', 'tokenizer.py', 'keyboard.ts', 'secretary.py', 'src/env.ts', 'passwordless.ts'])(
  '%s does not',
  (path) => {
    expect(isSecretPath(path)).toBe(false);
  },
);

test.each([
  'sk-proj-0123456789abcdef0123',
  'ghp_0123456789abcdefghij',
  'AKIAABCDEFGHIJKLMNOP',
  'postgres://user:pass@host/db',
  'https://host/path?token=abc',
  '-----BEGIN RSA PRIVATE KEY-----',
])('%s is a secret', (text) => {
  expect(holdsSecret(text)).toBe(true);
});

test.each(['https://host/path?page=1', 'redis://cache:6379', 'sk-short', 'openai/gpt-4o'])(
  '%s is not a secret',
  (text) => {
    expect(holdsSecret(text)).toBe(false);
  },
);

describe('the text for a model', () => {
  test.each([
    ['an attribute of JSX', 'a.js', 'const a = <Client apiKey="hunter2secret" />;'],
    ['the password of a URL in JSX', 'a.js', 'const a = <Db url="postgres://u:hunter2@h/db" />;'],
    ['text behind an unclosed element', 'a.js', 'const a = <Foo>text {a.b}\nconst password = "hunter22x";'],
    ['code that is not JavaScript', 'a.js', 'foo<string>("a", <T>(x));\nconst secret = "hunter22x";'],
    [
      'a file with conflict markers',
      'a.ts',
      '<<<<<<< HEAD\nlet a = 1;\n=======\n>>>>>>> b\nconst token = "hunter22x";',
    ],
    ['a comment', 'a.py', '# password = "hunter22x"'],
  ])('has no secret in %s', (_, path, text) => {
    const { text: shown, places } = redacted(sourceOf({ path, text }));
    expect(shown).not.toContain('hunter');
    expect(places).toHaveLength(1);
  });

  test('has no literals that look like secrets, and the same lines', () => {
    const text = [
      'key = "sk-0123456789abcdef0123"  # sk-0123456789abcdef0123',
      'password: str = "x"',
      'config = {"api_key": "hunter2-hunter2", "token": "API_TOKEN", "name": "a"}',
      'client = C(password="""hunter2',
      'hunter3""")',
      'url = "redis://:hunter2@cache"',
    ].join('\n');
    const { text: shown, places } = redacted(sourceOf({ path: 'a.py', text }));
    expect(shown).not.toMatch(/hunter|0123456789/);
    expect(shown.split('\n')).toHaveLength(6);
    expect(shown).toContain('"token": "API_TOKEN", "name": "a"');
    expect(places.map(({ line }) => line)).toEqual([1, 3, 4, 6]);
  });

  test('is unchanged without secrets', () => {
    const text = 'const a = process.env.API_KEY; // `x`\n';
    expect(redacted(sourceOf({ path: 'a.ts', text }))).toEqual({ text, places: [] });
  });
});
