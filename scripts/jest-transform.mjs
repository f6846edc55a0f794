// Jest's transform: Node.js strips the types of one file, as it does for files that it runs itself. Every line and column
// stays where it was, so no source map is needed. `npm run typecheck` finds type errors.
import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';
import { setInterval } from 'node:timers';

// A worker whose Jest was killed would run its file to the end: in a cluster, for minutes. It is checked at intervals, because
// a listener for `disconnect` would keep alive a worker that may end.
const CHECK_MS = 500;
if (process.connected) setInterval(() => process.connected || process.exit(1), CHECK_MS).unref();

export default {
  process(source) {
    return { code: stripTypeScriptTypes(source) };
  },
  getCacheKey(source, _path, { instrument }) {
    return createHash('sha256').update(`${process.version} ${instrument} `).update(source).digest('hex');
  },
};
