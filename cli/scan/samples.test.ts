// Compares the manifests of testing/fixtures/scan with what the command writes. After an intended change, run
// `node cli/main.ts scan --dir testing/fixtures/scan/<sample> --no-llm --out <file>` on a copy without agent.yaml, and review the diff.
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { commandFolder } from '../../testing/cli/command-folder.ts';

const { at, read, run, write } = commandFolder();

const SAMPLES = join(dirname(dirname(import.meta.dirname)), 'testing/fixtures/scan');

test.each(['python', 'typescript'])('the sample %s has the manifest that the scan writes', async (sample) => {
  cpSync(join(SAMPLES, sample), at(sample), { recursive: true });
  rmSync(at(`${sample}/agent.yaml`));
  // Git does not keep these directories of packages and results.
  for (const path of ['node_modules/decoy/index.js', 'dist/index.js'])
    write(`${sample}/${path}`, "import { tool } from 'ai'; export const decoy = tool({});\n");
  const { output, errors, exitCode } = await run(`scan --dir ${sample} --no-llm`);
  expect({ errors, exitCode }).toEqual({ errors: '', exitCode: 0 });
  expect(output).toMatch(
    new RegExp(`\nnot read:\n  \\.env: its name looks like secrets\nwrote ${sample}/agent\\.yaml\n$`),
  );
  const written = read(`${sample}/agent.yaml`);
  expect(written).toBe(readFileSync(join(SAMPLES, sample, 'agent.yaml'), 'utf8'));
  expect(written).not.toMatch(/dotenv|decoy|_of_a_|OfATest|ONLY_IN/);
  expect(parseManifest(written)).toMatchObject({ ok: true });
});
