import { isBuiltin } from 'node:module';
import { dirname } from 'node:path';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { INTEGRATIONS } from '../scripts/integrations.ts';

const bundled = (entry: string) =>
  build({
    absWorkingDir: dirname(import.meta.dirname),
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });

test('the reporter imports no package, because it runs inside the servers of its users', async () => {
  const { metafile } = await bundled('reporter/index.ts');
  const inputs = Object.keys(metafile.inputs);
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  expect(inputs).toContain('reporter/index.ts');
  expect(inputs.filter((path) => !/^(reporter|probe|push|core)\//.test(path))).toEqual([]);
  expect(imports.filter((path) => !isBuiltin(path))).toEqual([]);
});

test.each(INTEGRATIONS)('the integration %s contains only itself and imports nothing', async (name) => {
  const { metafile } = await bundled(`reporter/integrations/${name}.ts`);
  const sources = [`reporter/integrations/${name}.ts`, 'reporter/integrations/observer.ts'];
  expect(Object.keys(metafile.inputs).sort()).toEqual(sources.sort());
  const [output] = Object.values(metafile.outputs);
  expect(output?.imports).toEqual([]);
  expect(output?.bytes).toBeLessThan(12_000);
});
