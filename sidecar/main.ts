import { ignoreOutputErrors } from '../runtime/logger.ts';
import { endWith, runProcess } from '../runtime/run-process.ts';
import { StartProblem } from '../runtime/start-problem.ts';
import { collectBuffers } from './collect-buffers.ts';
import { readConfig, SIDECAR_FIELDS } from './config.ts';
import { resolveLocalhostToLoopback } from './localhost.ts';
import { processMemoryLimitBytes } from './proxy/memory-limit.ts';
import { renderPolicy } from './render-policy.ts';
import { tuneGarbageCollection } from './garbage-collection.ts';
import { startSidecar } from './start-sidecar.ts';

const [command, directory] = process.argv.slice(2);
if (command === undefined)
  void runProcess({
    part: 'sidecar',
    env: process.env,
    readConfig,
    start: (config, logger, stopped) => {
      tuneGarbageCollection();
      collectBuffers(processMemoryLimitBytes());
      resolveLocalhostToLoopback();
      return startSidecar({ config, logger, env: process.env, stopped });
    },
  });
else void runInitStep();

async function runInitStep(): Promise<void> {
  ignoreOutputErrors();
  const manifest = SIDECAR_FIELDS.MANIFEST_PATH.parse(process.env['MANIFEST_PATH']);
  const usage = 'usage: sidecar [render-policy <directory>]';
  const problem =
    command !== 'render-policy' || directory === undefined || !manifest.ok
      ? new StartProblem(usage, { exitCode: 1, explanation: usage })
      : await renderPolicy(manifest.value, directory);
  if (problem === null) return;
  process.stderr.write(`sidecar cannot start:\n${problem.explanation}\n`);
  endWith(problem);
}
