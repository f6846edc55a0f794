// The image of the sidecar has this file as dist/sidecar/main.js. It runs the bundle next to it with the code cache that the build of
// the image filled (fill-code-cache.cjs), which saves most of the compilation at each start. V8 refuses the cache of another version or
// source, and compiles as usual. Not the compile cache of Node.js: it is valid only on processors with the features of the one that
// filled it (decision 102).
const { readFileSync } = require('node:fs');
const { wrap } = require('node:module');
const { dirname, join } = require('node:path');
const { Script } = require('node:vm');

const cacheNextTo = (bundle) => bundle.replace(/js$/, `${process.arch}.cache`);

/** Compiles a bundle as a CommonJS module. It must not contain import(), which Node.js supports here only as an experiment. */
function compile(bundle, cachedData) {
  return new Script(wrap(readFileSync(bundle, 'latin1')), {
    filename: bundle,
    cachedData,
  });
}

/** Runs a compiled bundle. `require_`: for the files next to it. */
function run(script, bundle, require_) {
  const own = { exports: {} };
  script.runInThisContext()(own.exports, require_, own, bundle, dirname(bundle));
}

function cacheOf(bundle) {
  try {
    return readFileSync(cacheNextTo(bundle));
  } catch {
    // Filled for another architecture.
    return undefined;
  }
}

if (require.main === module) {
  const bundle = join(module.path, 'bundle.js');
  run(compile(bundle, cacheOf(bundle)), bundle, require);
}

module.exports = { cacheNextTo, compile, run };
