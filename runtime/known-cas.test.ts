import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../testing/time/manual-clock.ts';
import { crossSign, issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import { KnownCas, MAX_CA_LENGTH } from './known-cas.ts';

const NOW = new Date('2026-03-01T10:00:00.000Z');
const VALIDITY = { now: NOW, days: 3650 };
const HOST = 'agent-compliance-control-plane.platform-system.svc';
const [first, second, third, foreign] = await Promise.all([...Array(4)].map(() => issueCa(VALIDITY)));
if (!first || !second || !third || !foreign) throw new Error('no CA');
const leafOf = (ca: typeof first) => issueLeaf(ca, [HOST], { now: NOW, days: 90 });

let directory: string;
let clock: ManualClock;
let cas: KnownCas;

const write = (ca: string, chain: string) => {
  writeFileSync(join(directory, 'ca.crt'), ca);
  writeFileSync(join(directory, 'tls.crt'), chain);
};
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'known-cas-'));
  clock = new ManualClock(NOW.toISOString());
  cas = new KnownCas(
    ['ca.crt', 'tls.crt'].map((file) => join(directory, file)),
    clock,
  );
});
afterEach(() => rmSync(directory, { recursive: true }));

describe('the CAs that a pod may trust', () => {
  test('are unknown until the files exist', async () => {
    await expect(cas.read()).rejects.toThrow(
      `SIDECAR_CA_FILES ${directory}/ca.crt,${directory}/tls.crt are not`,
    );
    expect(cas.has(first.cert)).toBeNull();
  });

  test.each<[string, string, boolean]>([
    ['the CA', first.cert, true],
    ['the CA without a final line break', first.cert.trim(), true],
    ['the CA and the next CA', first.cert + second.cert, true],
    ['another CA', foreign.cert, false],
    ['the CA and another CA', first.cert + foreign.cert, false],
    ['another CA and the CA', foreign.cert + first.cert, false],
    ['another CA in another PEM type', first.cert + foreign.cert.replaceAll('CERT', 'X509 CERT'), false],
    [
      'another CA as trusted certificate',
      first.cert + foreign.cert.replaceAll('CERT', 'TRUSTED CERT'),
      false,
    ],
    ['an unfinished certificate', `${first.cert}-----BEGIN CERTIFICATE-----\nMII`, false],
    ['an invalid certificate', '-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n', false],
    ['nothing', '', false],
    ['text', 'ca', false],
    ['more than the injector adds', first.cert.repeat(Math.ceil(MAX_CA_LENGTH / first.cert.length)), false],
  ])('%s', async (_what, pem, expected) => {
    write(first.cert + second.cert, (await leafOf(first)).cert);
    await cas.read();
    expect([cas.has(pem), cas.has(pem)]).toEqual([expected, expected]);
  });

  test('stay known after their rotation, until the certificate that they signed is gone', async () => {
    const read = async () => {
      clock.advance(10_000);
      await cas.read();
      return [first.cert, second.cert, first.cert + second.cert, third.cert].map((pem) => cas.has(pem));
    };
    write(first.cert, (await leafOf(first)).cert);
    expect(await read()).toEqual([true, false, false, false]);
    const chain = (await leafOf(second)).cert + (await crossSign(second, first, NOW));
    write(second.cert + first.cert, chain);
    expect(await read()).toEqual([true, true, true, false]);
    write(second.cert, chain);
    expect(await read()).toEqual([true, true, true, false]);
    write(third.cert, (await leafOf(third)).cert + (await crossSign(third, second, NOW)));
    expect(await read()).toEqual([false, true, false, true]);
  });

  // A self-signed certificate with a key on P-521, whose signatures take 20 times as long to verify.
  const OTHER_CURVE = `-----BEGIN CERTIFICATE-----
MIIB9TCCAVigAwIBAgIUOEKf+4FPGUgrNYpE6IwgEnzhazwwCgYIKoZIzj0EAwIw
DDEKMAgGA1UEAwwBZTAgFw0yNjExMjgwNzI2NTZaGA8yMTI2MTEwNDA3MjY1Nlow
DDEKMAgGA1UEAwwBZTCBmzAQBgcqhkjOPQIBBgUrgQQAIwOBhgAEAcYpXD2a4omn
VOJKdShQ5pjKy1zzXr1kaiQ/P0oh/leoJyD2ofezLILWol4GsplPQy+yCwT5mz0b
4fR7CvzbD5YBAXEV2xG5P2A4f7VtZpVcffSJzMT6UWxaVa+FfDthFjkBaAKV9uyX
zyDr+IKW8k+u8a30DES04q55k7xtnrMvLFNjo1MwUTAdBgNVHQ4EFgQU4vw7Xfbl
D0VUJvWN3p5asy1LlZMwHwYDVR0jBBgwFoAU4vw7XfblD0VUJvWN3p5asy1LlZMw
DwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgOBigAwgYYCQTXs36Eu+z7M6BSU
SIrMgiwLPUoPmU+uIVOrr7QBsDAsTIlPlccyTuBPHV1p8LkCwDQQDpLCiN6XsIN1
HfzX8dZiAkFpBJLgf4RJzy3ter9qIBvXlveYs6NI5PS55QlLR+LhFV9FF+E5NghN
q9QZMdoA37c5C61qKxxyF06RDUPPtmUR7g==
-----END CERTIFICATE-----
`;

  test('cost one verification per annotation of a pod, whatever its author writes', async () => {
    write(first.cert, (await leafOf(first)).cert);
    await cas.read();
    const verify = jest.spyOn(X509Certificate.prototype, 'verify');
    const texts = [...Array(300).keys()].map((n) => first.cert + '\n'.repeat(n));
    for (let round = 0; round < 3; round += 1)
      expect(new Set(texts.map((text) => cas.has(text)))).toEqual(new Set([true]));
    expect(verify).toHaveBeenCalledTimes(texts.length);
    expect(cas.has(OTHER_CURVE)).toBe(false);
    expect(verify).toHaveBeenCalledTimes(texts.length);
    verify.mockRestore();
  });

  test('keep the last content while a file cannot be read', async () => {
    write(first.cert, (await leafOf(first)).cert);
    await cas.read();
    rmSync(join(directory, 'tls.crt'));
    await cas.read();
    clock.advance(10_000);
    await expect(cas.read()).rejects.toThrow('are not readable PEM files');
    expect(cas.has(first.cert)).toBe(true);
  });
});
