// Jest's transform: esbuild strips the types of one file. Type errors are the business of `npm run typecheck`.
import { createHash } from 'node:crypto';
import { setInterval } from 'node:timers';
import { transformSync, version } from 'esbuild';

// A worker whose Jest was killed would run its file to the end: in a cluster, minutes that nobody waits for. A look now and
// then, since a listener for `disconnect` would keep a worker alive that may go.
const LOOK_MS = 500;
if (process.connected) setInterval(() => process.connected || process.exit(1), LOOK_MS).unref();

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
