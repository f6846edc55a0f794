import { InvalidArgumentError, type Command } from 'commander';
import { isPack, PACKS, type Pack } from '../../core/manifest/packs.ts';
import type { CliContext } from '../context.ts';
import { load } from '../load.ts';
import { httpUrl } from '../option-values.ts';
import type { Rendered } from '../rendered.ts';
import { auditCommand } from './audit.ts';

interface Typed {
  pack?: Pack[];
  url?: URL;
  acceptLocalProofs?: true;
  json?: true;
  output?: string;
  failBelow?: number;
}

export function addAudit(program: Command, context: CliContext, finish: (rendered: Rendered) => void): void {
  program
    .command('audit')
    .summary('audit a manifest against the compliance rules')
    .description(
      'Audits a manifest against the compliance rules. The declared score rates the declarations in the manifest. With --url, the proved score rates the declarations for which the sidecar has evidence.',
    )
    .argument('<file>', 'path to the manifest, such as agent.yaml')
    .option(
      '--pack <pack>',
      `audit only this pack; repeatable (${PACKS.join(', ')}; default: spec.compliance.packs, else all)`,
      collectPack,
    )
    .option(
      '--url <url>',
      "URL of the sidecar's control port, to get its checks, observations and proofs",
      httpUrl,
    )
    .option(
      '--accept-local-proofs',
      'count proofs written through port 4001 even if the sidecar accepts proofs only from the control plane',
    )
    .option(
      '--json',
      'print {overallScore, grade, passedRules, totalRules, violations[], suppressions[]}; with --url also provedScore, provedGrade, pendingProofCount, countedProofs[]{ruleId, origin}, uncountedProofs[]',
    )
    .option(
      '--output <file>',
      'also write the report to a file: JSON with --json or a name ending in .json, else text',
    )
    .option('--fail-below <score>', 'exit with 1 if the declared score is below this (0 to 100)', score)
    .addHelpText('after', HELP)
    .action(async (file: string, typed: Typed) => {
      const { pack = [], url = null, json, acceptLocalProofs, ...rest } = typed;
      const options = {
        ...rest,
        packs: pack,
        url,
        acceptLocalProofs: acceptLocalProofs === true,
        json: json === true,
      };
      finish(await auditCommand(await load(file, context), options, context));
    });
}

const HELP = `
Examples:
  $ platform audit agent.yaml
  $ platform audit agent.yaml --pack owasp-llm-top10 --fail-below 75
  $ platform audit agent.yaml --url http://localhost:4001
  $ platform audit agent.yaml --json --output audit.json

A passed rule is marked [D] declared. With --url it can also be [P] probed (its check passes), [B] observed (requests
through the sidecar show it) or [X] proved (an unexpired proof was submitted; its origin is shown). If the sidecar accepts
proofs only from the control plane, local proofs count only with --accept-local-proofs. An unreachable sidecar is an error.

Exit codes: 0 audit complete; 1 the declared score is below --fail-below, the manifest is not valid, the sidecar is
unreachable, or the report cannot be written.`;

function collectPack(value: string, before: Pack[] = []): Pack[] {
  if (!isPack(value)) throw new InvalidArgumentError(`Allowed choices are ${PACKS.join(', ')}.`);
  return [...before, value];
}

function score(value: string): number {
  const number = /^\d{1,3}(?:\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= 100)) throw new InvalidArgumentError('Must be a number from 0 to 100, such as 75.');
  return number;
}
