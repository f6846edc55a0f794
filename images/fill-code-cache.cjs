// Fills the code cache of the sidecar's image: node fill-code-cache.cjs BUNDLE DIRECTORY. Run it with the Node.js of the image, because a
// cache is valid for one version of V8 only. It has the code that a start runs before the servers listen: the modules of the bundle and
// the parser of manifests. Therefore the bundle is run as the init container runs it (render-policy), which ends by itself. Not as a
// sidecar, which changes flags of V8 at its start: V8 refuses the cache of a process with other flags.
const { mkdirSync, mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { tmpdir } = require('node:os');
const { join, resolve } = require('node:path');
const { cacheNextTo, compile, run } = require('./load-bundle.cjs');

const MANIFEST = `
apiVersion: platform.io/v1
kind: PlatformAgent
metadata: { name: agent, version: 1.0.0, description: Fills the code cache. }
spec:
  model: { provider: openai, id: gpt-5, apiKey: $env:OPENAI_API_KEY }
  tools: [{ name: search }]
  guardrails: { input: [{ type: pii-detector }] }
`;

const [bundle, directory] = process.argv.slice(2).map((path) => resolve(path));
const folder = mkdtempSync(join(tmpdir(), 'code-cache-'));
const manifest = join(folder, 'agent.yaml');
writeFileSync(manifest, MANIFEST);
process.env.MANIFEST_PATH = manifest;
process.argv = [process.execPath, bundle, 'render-policy', folder];

const script = compile(bundle);
process.once('beforeExit', () => {
  rmSync(folder, { recursive: true });
  mkdirSync(directory, { recursive: true });
  if (!process.exitCode) writeFileSync(cacheNextTo(join(directory, 'bundle.js')), script.createCachedData());
});
run(script, bundle, createRequire(bundle));
