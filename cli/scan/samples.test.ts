// Compares the manifests of testing/fixtures/scan with what the command writes. After an intended change, run
// `node cli/main.ts scan --dir testing/fixtures/scan/<sample> --no-llm --out <file>` on a copy without agent.yaml, and review the diff.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { runCommandLine } from '../program.ts';

const SAMPLES = join(dirname(dirname(import.meta.dirname)), 'testing/fixtures/scan');

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'scan-samples-'));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true }));

test.each(['python', 'typescript'])('the sample %s has the manifest that the scan writes', async (sample) => {
  const directory = join(cwd, sample);
  cpSync(join(SAMPLES, sample), directory, { recursive: true });
  rmSync(join(directory, 'agent.yaml'));
  // Git does not keep these directories of packages and results.
  for (const path of ['node_modules/decoy/index.js', 'dist/index.js']) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), "import { tool } from 'ai'; export const decoy = tool({});\n");
  }
  const context = { env: {}, cwd, now: () => new Date(0), color: false, ask: null };
  const { output, errors, exitCode } = await runCommandLine(['scan', '--dir', sample, '--no-llm'], context);
  expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  expect(output).toMatch(
    new RegExp(`\nnot read:\n  \\.env: its name looks like secrets\nwrote ${sample}/agent\\.yaml\n$`),
  );
  const written = readFileSync(join(directory, 'agent.yaml'), 'utf8');
  expect(written).toBe(readFileSync(join(SAMPLES, sample, 'agent.yaml'), 'utf8'));
  expect(written).not.toMatch(/dotenv|decoy|_of_a_|OfATest|ONLY_IN/);
  expect(parseManifest(written)).toMatchObject({ ok: true });
});
