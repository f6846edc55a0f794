import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseManifest } from '../../core/manifest/parse-manifest.ts';
import { runProcess } from '../../runtime/run-process.ts';
import { startAgent } from './agent.ts';
import { readConfig } from './config.ts';
import { PROFILES } from './faults.ts';

/** Directory of this program, both as source and as bundle. */
const OWN_DIRECTORY = dirname(realpathSync(process.argv[1] ?? '.'));

void runProcess({
  part: 'example-agent',
  env: process.env,
  readConfig,
  start: (config, logger) => {
    const path = config.MANIFEST_PATH ?? join(OWN_DIRECTORY, config.AGENT_PROFILE, 'agent.yaml');
    const parsed = parseManifest(readFileSync(path, 'utf8'));
    if (!parsed.ok)
      throw new Error(
        parsed.problems.map(({ line, column, message }) => `${path}:${line}:${column} ${message}`).join('\n'),
      );
    const { metadata } = parsed.manifest;
    return startAgent({
      manifest: { ...parsed.manifest, metadata: { ...metadata, name: config.AGENT_NAME ?? metadata.name } },
      manifestFolder: dirname(path),
      faults: new Set(config.AGENT_FAULTS ?? PROFILES[config.AGENT_PROFILE]),
      host: config.HOST,
      port: config.PORT,
      modelBaseUrl: config.OPENAI_BASE_URL,
      env: process.env,
      logger,
    });
  },
});
