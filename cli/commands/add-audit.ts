import { InvalidArgumentError, type Command } from 'commander';
import { isPack, PACKS, type Pack } from '../../core/audit/packs.ts';
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
    .summary('hold a manifest against the compliance rules')
    .description(
      'Holds a manifest against the compliance rules. The declared score says what it promises; with --url the proved score says how much of that its sidecar can show.',
    )
    .argument('<file>', 'the manifest, such as agent.yaml')
    .option(
      '--pack <pack>',
      `audit this pack alone; may be repeated (${PACKS.join(', ')}; default: those of spec.compliance.packs, else all)`,
      collectPack,
    )
    .option(
      '--url <url>',
      "the sidecar's control port, asked for its checks, observations and proofs",
      httpUrl,
    )
    .option(
      '--accept-local-proofs',
      'count proofs that were written at port 4001, also where the sidecar accepts proofs of the control plane alone',
    )
    .option(
      '--json',
      'print {overallScore, grade, passedRules, totalRules, violations[], suppressions[]}, with --url provedScore, provedGrade, pendingProofCount, countedProofs[]{ruleId, origin}, uncountedProofs[] too',
    )
    .option(
      '--output <file>',
      'write the report to a file too: JSON with --json or a name in .json, else text',
    )
    .option('--fail-below <score>', 'lowest declared score, 0 to 100, that is no failure', score)
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

A rule that passes is [D] declared; with --url also [P] probed: a check of it passes, [B] observed: requests that passed
the sidecar show it, or [X] proved: an unexpired proof was submitted, with its origin. Where the sidecar accepts proofs of
the control plane alone, local ones count only with --accept-local-proofs. A sidecar that does not answer is an error.

Exit codes: 0 audited; 1 the declared score is below --fail-below, the manifest is not valid, the sidecar cannot be
asked, or the report cannot be written.`;

function collectPack(value: string, before: Pack[] = []): Pack[] {
  if (!isPack(value)) throw new InvalidArgumentError(`Allowed choices are ${PACKS.join(', ')}.`);
  return [...before, value];
}

function score(value: string): number {
  const number = /^\d{1,3}(?:\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (!(number <= 100)) throw new InvalidArgumentError('It is a number from 0 to 100, such as 75.');
  return number;
}
