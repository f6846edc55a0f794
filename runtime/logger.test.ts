import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createLogger, describeError, type LogFields, type LoggerOptions } from './logger.ts';

const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });

test.each<[string, unknown, string]>([
  ['the message of an error', new Error('it broke'), 'it broke'],
  ['the name of an error without a message', new TypeError(), 'TypeError'],
  ['a thrown value that is not an error', 'thrown', 'thrown'],
  ['a code once', coded('ENOENT', 'ENOENT: no such file'), 'ENOENT: no such file'],
  ['a code that the message lacks', coded('ERR_SQLITE_ERROR', 'disk full'), 'ERR_SQLITE_ERROR: disk full'],
  [
    'the chain of causes',
    new Error('cannot start', { cause: new Error('cannot read', { cause: coded('EIO', 'bad disk') }) }),
    'cannot start (cannot read (EIO: bad disk))',
  ],
])('describes in one line: %s', (_what, error, line) => {
  expect(describeError(error)).toBe(line);
});

describe('a log line', () => {
  let written: string[];

  beforeEach(() => {
    written = [];
    jest.spyOn(process.stderr, 'write').mockImplementation((line) => written.push(String(line)) > 0);
  });

  afterEach(() => void jest.restoreAllMocks());

  const loggerOf = (format: LoggerOptions['format'], level: LoggerOptions['level'] = 'info') =>
    createLogger({ part: 'webhook', level, format });
  const circular: Record<string, unknown> = { ten: 10n };
  circular['self'] = circular;
  const cause = new Error('it broke', { cause: new Error('no disk') });

  test.each<[string, LogFields | undefined, Record<string, unknown>]>([
    ['no fields', undefined, {}],
    ['an error with its causes', { error: cause }, { error: 'it broke (no disk)' }],
    ['a value that JSON does not support', { ten: 10n }, { ten: '10' }],
    ['a circular object', { circular }, { circular: { ten: '10', self: '[Circular]' } }],
    ['line breaks and quotes', { text: 'a\n"b"' }, { text: 'a\n"b"' }],
  ])('in JSON format has %s', (_what, fields, members) => {
    loggerOf('json').warn('injected 100 %s pods', fields);
    expect(written).toHaveLength(1);
    const [line = ''] = written;
    expect(line).toMatch(/^[^\n]+\n$/);
    const { timestamp, ...rest } = JSON.parse(line) as Record<string, unknown>;
    expect(rest).toEqual({ level: 'warn', part: 'webhook', message: 'injected 100 %s pods', ...members });
    expect(new Date(String(timestamp)).toISOString()).toBe(timestamp);
  });

  test('keeps its own level and message if fields have the same names', () => {
    loggerOf('json').info('injected', { level: 'error', message: 'other' });
    expect(JSON.parse(written[0] ?? '')).toMatchObject({ level: 'info', message: 'injected' });
  });

  test('in text format has the same fields', () => {
    loggerOf('text').error('stopped', { count: 3, list: ['a'], error: cause, ten: 10n, circular });
    expect(written).toHaveLength(1);
    expect(written[0]).toMatch(
      /^\d{4}-\d\d-\d\dT[\d:.]{12}Z ERROR webhook stopped count=3 list=\["a"\] error=it broke \(no disk\) ten=10 circular=\{.*\}\n$/,
    );
  });

  test.each<[LoggerOptions['level'], string[]]>([
    ['error', ['error']],
    ['warn', ['error', 'warn']],
    ['info', ['error', 'warn', 'info']],
    ['debug', ['error', 'warn', 'info', 'debug']],
  ])('is written at level %s and above', (level, levels) => {
    const logger = loggerOf('json', level);
    for (const each of ['error', 'warn', 'info', 'debug'] as const) logger[each]('x');
    expect(written.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual(levels);
  });
});
