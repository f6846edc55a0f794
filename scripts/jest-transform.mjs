// Jest's transform: Node.js strips the types of one file, as it does for files that it runs directly. Line and column numbers
// do not change, so no source map is needed. `npm run typecheck` finds type errors.
import { createHash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';
import { setInterval } from 'node:timers';

// A worker of a killed Jest process would run its file to the end, which takes minutes in a cluster. The connection is polled,
// because a listener for `disconnect` would keep a finished worker alive.
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
