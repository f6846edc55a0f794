import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  describeProblems,
  flag,
  integer,
  oneOf,
  optionalHttpUrl,
  optionalInteger,
  optionalOneOf,
  optionalSecret,
  optionalText,
  parseHttpUrl,
  port,
  readEnv,
  text,
  withDefault,
  withSecretFiles,
} from './env.ts';

const fields = {
  PORT: port(4000),
  MODE: oneOf(['track', 'off'], 'track'),
  KIND: optionalOneOf(['a', 'b']),
  URL: withDefault('a URL', 'http://localhost:8000', parseHttpUrl),
  OTHER: optionalHttpUrl,
  SIZE: integer({ min: 1, max: 10, default: 3 }),
  LIMIT: optionalInteger({ min: 1, max: 10 }),
  ON: flag(false),
  NAME: text('x'),
  NOTE: optionalText,
  KEY: optionalSecret(8),
};

describe('readEnv', () => {
  test('returns all defaults if nothing is set, and treats empty values as unset', () => {
    const result = readEnv({ PORT: '', KEY: '' }, fields);
    expect(result).toEqual({
      ok: true,
      config: {
        PORT: 4000,
        MODE: 'track',
        KIND: null,
        URL: new URL('http://localhost:8000'),
        OTHER: null,
        SIZE: 3,
        LIMIT: null,
        ON: false,
        NAME: 'x',
        NOTE: null,
        KEY: null,
      },
    });
  });

  test('reads all given values', () => {
    const result = readEnv(
      {
        PORT: '1',
        MODE: 'off',
        KIND: 'b',
        URL: 'https://a/',
        OTHER: 'http://b/',
        SIZE: '10',
        LIMIT: '2',
        ON: 'true',
        NAME: 'n',
        NOTE: 'm',
        KEY: '12345678',
      },
      fields,
    );
    expect(result.ok && { ...result.config, KEY: result.config.KEY?.reveal() }).toEqual({
      PORT: 1,
      MODE: 'off',
      KIND: 'b',
      URL: new URL('https://a/'),
      OTHER: new URL('http://b/'),
      SIZE: 10,
      LIMIT: 2,
      ON: true,
      NAME: 'n',
      NOTE: 'm',
      KEY: '12345678',
    });
  });

  test.each([
    ['PORT', '0'],
    ['PORT', '65536'],
    ['PORT', '4000x'],
    ['PORT', '1e3'],
    ['PORT', ' 80'],
    ['MODE', 'Track'],
    ['KIND', 'c'],
    ['URL', 'ftp://x'],
    ['URL', 'localhost:8000'],
    ['OTHER', 'file:///etc'],
    ['OTHER', 'https://user:password@host'],
    ['SIZE', '11'],
    ['SIZE', '2.5'],
    ['LIMIT', 'none'],
    ['ON', 'yes'],
  ])('rejects %s=%s and reports the value and what is accepted', (name, value) => {
    const result = readEnv({ [name]: value }, fields);
    expect(result).toEqual({
      ok: false,
      problems: [{ name, value, wanted: fields[name as keyof typeof fields].wanted }],
    });
  });

  test.each([
    ['ftp://user:hunter2@host/x', 'ftp://[secret]@host/x'],
    ['http://hunter2@host', 'http://[secret]@host'],
    ['http://u:a@b:hunter2@host', 'http://[secret]@host'],
    ['line\nfeed \u001b[31mred', 'line\\nfeed \\u001b[31mred'],
    ['x'.repeat(201), `${'x'.repeat(200)}…`],
  ])('prints the invalid value %j on one line without a password', (value, printed) => {
    const result = readEnv({ PORT: value }, fields);
    if (result.ok) throw new Error('the invalid environment was accepted');
    expect(describeProblems(result.problems)).toBe(
      `PORT=${printed}: must be an integer from 1 to 65535 (default 4000)`,
    );
  });

  test('reports all problems at once and never prints a secret', () => {
    const result = readEnv({ PORT: 'x', KEY: 'hunter2' }, fields);
    if (result.ok) throw new Error('the invalid environment was accepted');
    const printed = describeProblems(result.problems);
    expect(printed).toBe(
      'PORT=x: must be an integer from 1 to 65535 (default 4000)\nKEY=[secret]: must be at least 8 characters, or unset',
    );
  });
});

describe('a secret in a file', () => {
  let folder: string;
  let path: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'secret-files-'));
    path = join(folder, 'key');
    mkdirSync(join(folder, 'directory'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ['a key', 'a key'],
    ['a key\n', 'a key'],
    ['a key\r\n', 'a key'],
    ['two lines\n\n', 'two lines\n'],
    ['', ''],
  ])('%j is read as %j', (content, KEY) => {
    writeFileSync(path, content);
    const given = { KEY_FILE: path, PORT: '1' };
    expect(withSecretFiles(given, fields)).toEqual({
      env: { ...given, KEY },
      problems: [],
    });
    expect(withSecretFiles({ ...given, KEY: '' }, fields)).toMatchObject({
      env: { KEY },
      problems: [],
    });
  });

  test('that does not exist is unset, as is a variable of a file without a value', () => {
    for (const KEY_FILE of [join(folder, 'none'), ''])
      expect(withSecretFiles({ KEY_FILE }, fields)).toEqual({
        env: { KEY_FILE },
        problems: [],
      });
  });

  test('is rejected if the variable itself is set too, or if the file cannot be read', () => {
    const problemsOf = (env: Record<string, string>) =>
      describeProblems(withSecretFiles(env, fields).problems);
    expect(problemsOf({ KEY: 'hunter2', KEY_FILE: path })).toBe(
      `KEY_FILE=${path}: must be unset, because KEY is set`,
    );
    const directory = join(folder, 'directory');
    expect(problemsOf({ KEY_FILE: directory })).toBe(
      `KEY_FILE=${directory}: must be the path of a file that this process can read (EISDIR)`,
    );
  });

  test('exists only for secrets', () => {
    const NAME_FILE = join(folder, 'directory');
    expect(withSecretFiles({ NAME_FILE }, fields)).toEqual({
      env: { NAME_FILE },
      problems: [],
    });
  });
});
