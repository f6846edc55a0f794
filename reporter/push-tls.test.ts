import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import type { KeyPair } from '../runtime/http-listener.ts';
import { createReporter, type Reporter } from './index.ts';
import { until } from '../testing/time/until.ts';

const MANIFEST = {
  apiVersion: 'platform.io/v1' as const,
  kind: 'PlatformAgent' as const,
  metadata: { name: 'shop', version: '1.0.0', description: 'sells' },
  spec: { model: { provider: 'openai', id: 'gpt', apiKey: '$env:NOT_SET' } },
};

let directory: string;
let ca: KeyPair;
let server: Server;
let keys: (string | undefined)[];
let warnings: unknown[];
let reporter: Reporter;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'push-tls-'));
  const validity = { now: new Date(), days: 1 };
  ca = await issueCa(validity);
  writeFileSync(join(directory, 'ca.pem'), (await issueCa(validity)).cert);
  keys = [];
  warnings = [];
  server = createServer(await issueLeaf(ca, ['127.0.0.1'], validity), (request, response) => {
    request.resume();
    request.on('end', () => {
      keys.push(request.headers.authorization);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  await reporter.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  rmSync(directory, { recursive: true });
});

test('sends the key only to a control plane that the CA file verifies, and reads the file for every push', async () => {
  reporter = createReporter({
    manifest: MANIFEST,
    env: {},
    push: {
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
      key: 'k',
      caFile: join(directory, 'ca.pem'),
    },
    logger: {
      warn: (_message, fields) => void warnings.push(fields),
      info: () => undefined,
      debug: () => undefined,
    },
  });
  reporter.start();
  await until(() => warnings.length > 0);
  expect([keys, warnings]).toEqual([
    [],
    [
      expect.objectContaining({
        kind: 'failed',
        reason: expect.stringMatching(/^UNABLE_TO_VERIFY_LEAF_SIGNATURE/),
      }),
    ],
  ]);
  writeFileSync(join(directory, 'ca.pem'), ca.cert);
  await until(() => keys.length > 0);
  expect(keys).toEqual(['Bearer k']);
});
