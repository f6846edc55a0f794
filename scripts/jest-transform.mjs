// Jest's transform: esbuild strips the types of one file. Type errors are the business of `npm run typecheck`.
import { createHash } from 'node:crypto';
import { transformSync, version } from 'esbuild';

export default {
  process(source, path) {
    const { code, map } = transformSync(source, {
      loader: 'ts',
      format: 'esm',
      target: 'node22',
      sourcefile: path,
      sourcemap: 'both',
    });
    return { code, map };
  },
  getCacheKey(source, path) {
    return createHash('sha256').update(version).update(path).update(source).digest('hex');
  },
};
