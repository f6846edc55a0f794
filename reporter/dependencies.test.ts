import { isBuiltin } from 'node:module';
import { dirname } from 'node:path';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';

test('the reporter imports no package, because it runs inside the servers of its users', async () => {
  const { metafile } = await build({
    absWorkingDir: dirname(import.meta.dirname),
    entryPoints: ['reporter/index.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const inputs = Object.keys(metafile.inputs);
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path));
  expect(inputs).toContain('reporter/index.ts');
  expect(inputs.filter((path) => !/^(reporter|probe|push|core)\//.test(path))).toEqual([]);
  expect(imports.filter((path) => !isBuiltin(path))).toEqual([]);
});
