import type { ANNOTATIONS } from '../../core/injection/annotations.ts';

/** Values that an annotation accepts, and values that it rejects. */
export const ANNOTATION_VALUES: Readonly<
  Record<keyof typeof ANNOTATIONS, { good: string[]; bad: string[] }>
> = {
  inject: { good: ['true', 'false'], bad: ['yes', '', 'True', ' true'] },
  agentName: {
    good: ['a', 'chat-2', 'a'.repeat(63)],
    bad: ['', 'A', '-a', 'a-', 'a.b', 'a'.repeat(64), 'a/b', '../x'],
  },
  manifestConfigMap: { good: ['a', 'a.b-c'], bad: ['', 'A', 'a..b', 'a_b', 'a'.repeat(254)] },
  manifestSha256: {
    good: ['0'.repeat(64), `${'0123456789abcdef'.repeat(4)}`],
    bad: ['', 'a'.repeat(63), 'a'.repeat(65), 'A'.repeat(64), `sha256:${'a'.repeat(64)}`, 'g'.repeat(64)],
  },
  agentContainer: { good: ['agent'], bad: ['', 'Agent', 'a b'] },
  agentPort: {
    good: ['1', '8000', '65535'],
    bad: ['', '0', '65536', '-1', '08', '8000.0', '1e3', 'http', ' 80'],
  },
  mode: { good: ['track', 'enforce', 'off'], bad: ['', 'block', 'ENFORCE'] },
  cpuRequest: { good: ['1m', '250m', '1', '0.5', '64'], bad: ['', '0', '0.5m', '65', '1 ', 'lots', '-1'] },
  cpuLimit: { good: ['1m', '64', 'none'], bad: ['0', '', 'None', '65'] },
  memoryRequest: { good: ['96Mi', '1Gi', '16Gi', '200M'], bad: ['', '95Mi', '17Gi', '192', '192mb'] },
  memoryLimit: { good: ['96Mi', '16Gi'], bad: ['1Mi'] },
  image: { good: ['a:1', 'r.example:5000/x/y_z@sha256:ab'], bad: ['', 'a b', 'a\n', 'a,b'] },
  otlp: { good: ['true', 'false'], bad: ['yes', '', 'True', 'true '] },
  egressLanes: {
    good: ['openai', 'openai,anthropic', 'gemini, mcp:files=FILES_URL', 'compatible:a-1=_X9'],
    bad: [
      '',
      'bedrock',
      'openai,',
      'openai;azure',
      'openai=OPENAI_BASE_URL',
      'mcp:files',
      'mcp:=X',
      'mcp:a=1X',
    ],
  },
  egressCaConfigMap: { good: ['vendor-ca', 'a.b'], bad: ['', 'Vendor', 'a/b', 'x'.repeat(254)] },
  egressFailMode: {
    good: ['open', 'closed', 'closed,mcp:files=open', 'openai=closed'],
    bad: ['', 'off', 'openai', 'openai=track', 'closed, openai=open', `closed${',closed'.repeat(200)}`],
  },
  egressMode: { good: ['track', 'enforce', 'off'], bad: ['', 'fail', 'TRACK'] },
  egressConnect: { good: ['off', 'log', 'deny'], bad: ['', 'on', 'true', 'allow'] },
  census: { good: ['true', 'false'], bad: ['', 'off', 'True'] },
  auditLog: { good: ['off', 'stdout', 'file'], bad: ['', 'on', 'File', 'file '] },
  identityHeader: {
    good: ['x-forwarded-user', 'x2', 'a'.repeat(64)],
    bad: ['', 'X-Forwarded-User', '-x', 'x forwarded', 'x:y', 'é', 'a'.repeat(65), 'x\n'],
  },
  identityProxies: {
    good: ['10.0.0.0/8', '10.0.0.1,127.0.0.1', '10.0.0.0/8, fd00::/8, ::1'],
    bad: ['', '10.0.0.0/8,', 'proxy.example', '10.0.0.0/8;10.1.0.0/16', '10.0.0.0/8\n'],
  },
  compliantGrade: { good: ['A', 'B', 'C', 'D', 'F'], bad: ['', 'a', 'E', 'AA', '0', ' A'] },
  compliantEvidence: {
    good: ['0', '1', '50', '100'],
    bad: ['', '101', '-1', '050', '50.0', '50%', ' 5', '1e1'],
  },
  stop: {
    good: ['leak of order data', ' ', 'é', 'x'.repeat(500)],
    bad: ['', 'two\nlines', 'leak\n', 'x'.repeat(501)],
  },
  logLevel: { good: ['error', 'warn', 'info', 'debug'], bad: ['', 'trace'] },
};
