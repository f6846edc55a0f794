// Leaves out tables of packages that a process never uses, for bundles that start once per pod: they are a fifth of the sidecar's
// bundle, which is read and parsed at every start and stays in memory.
import { readFileSync } from 'node:fs';

/** Types without a charset that Express is asked for. It is also asked for all types that have one. */
const USED_TYPES = new Set([
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'text/event-stream',
  'text/html',
  'text/plain',
]);

/** Encodings of iconv-lite, which express.json() uses. It rejects every charset that is not a form of Unicode before a look-up. */
const UNICODE = ['internal', 'utf32', 'utf16', 'utf7'];

export const smallTables = {
  name: 'small-tables',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]mime-db[\\/]db\.json$/ }, ({ path }) => {
      const types = Object.entries(JSON.parse(readFileSync(path, 'utf8')));
      const used = types.filter(([name, { charset }]) => charset !== undefined || USED_TYPES.has(name));
      return { contents: JSON.stringify(Object.fromEntries(used)), loader: 'json' };
    });
    onLoad({ filter: /[\\/]iconv-lite[\\/]encodings[\\/]index\.js$/ }, () => ({
      contents: `Object.assign(exports, ${UNICODE.map((name) => `require('./${name}')`).join(', ')});`,
      loader: 'js',
    }));
  },
};
