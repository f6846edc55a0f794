// Fills the code cache of the sidecar's image: node fill-code-cache.cjs BUNDLE DIRECTORY. Run it with the Node.js of the image, because a
// cache is valid for one version of V8 only. It has what V8 compiles when it loads the bundle, and nothing of a run: that would
// depend on the time of the run, and be refused, because the sidecar changes flags of V8 at its start.
const { mkdirSync, writeFileSync } = require('node:fs');
const { join, resolve } = require('node:path');
const { cacheNextTo, compile } = require('./load-bundle.cjs');

const [bundle, directory] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
writeFileSync(cacheNextTo(join(directory, 'bundle.js')), compile(resolve(bundle)).createCachedData());
