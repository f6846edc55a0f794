import { uninjectManifests } from '../../core/injection/inject-manifests.ts';
import { changeFiles, type Target } from '../change-files.ts';
import type { AddCommand } from '../context.ts';
import { formatOption, jsonOption } from '../output-options.ts';

export const addUninject: AddCommand = (program, context, finish) => {
  program
    .command('uninject')
    .summary('remove the sidecar from the workloads in manifests')
    .description('Removes what the inject command or the injector in a cluster added to workloads.')
    .argument('<paths...>', 'files, directories with .yaml, .yml and .json files, or - for standard input')
    .option('--output <path>', 'write to a file, or to a directory for several inputs')
    .addOption(jsonOption('{uninjected, skipped, refused, passed, files[]}'))
    .addOption(formatOption())
    .addHelpText('after', HELP)
    .action(async (paths: string[], flags: Target) => {
      const work = { done: 'uninjected', change: uninjectManifests };
      finish(await changeFiles(paths, work, flags, context));
    });
};

const HELP = `
Examples:
  $ platform uninject injected.yaml
  $ kubectl get deployment chat -o yaml | platform uninject - | kubectl apply -f -

Exit codes: 0 written; 1 a workload was refused, or an input cannot be read.`;
