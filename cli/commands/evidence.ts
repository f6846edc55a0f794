import { InvalidArgumentError, Option, type Command } from 'commander';
import { dayOf } from '../../authoring/evidence/range.ts';
import { parseHttpUrl } from '../http-url.ts';
import type { AddCommand } from '../context.ts';
import { URL_VARIABLE } from '../control-plane-access.ts';
import { makeEvidence, type EvidenceFlags } from '../evidence/make-evidence.ts';
import { PASSPHRASE_VARIABLE } from '../evidence/sign.ts';
import { verifyEvidence, type VerifyFlags } from '../evidence/verify-evidence.ts';
import { httpUrl, notEmpty, secretUrl } from '../option-values.ts';
import { formatOption, jsonOption } from '../output-options.ts';

export const addEvidence: AddCommand = (program, context, finish) => {
  const command = program
    .command('evidence')
    .summary('write a signed bundle of evidence about an agent, or verify one')
    .description(
      'Writes what is known about an agent in a range of days as JSON and as a page for people, signed with --key. The data comes from a control plane, or from a sidecar and log files.',
    )
    .argument('[agent]', 'name of the agent')
    .option('-n, --namespace <namespace>', 'namespace of the agent; default: the only one with this name')
    .addOption(new Option('--from <day>', 'first UTC day, such as 2026-11-01; required').argParser(day))
    .addOption(new Option('--to <day>', 'last UTC day; required').argParser(day))
    .option('--out <dir>', 'directory for the files, which it must not contain yet; required')
    .option('--manifest <file>', 'manifest of the agent; default: agent.yaml, agent.yml or agent.json')
    .option('--url <url>', `URL of the control plane; default: ${URL_VARIABLE}`, secretUrl)
    .addOption(
      new Option('--sidecar <url>', "URL of a sidecar's control port, instead of a control plane")
        .argParser(httpUrl)
        .conflicts('url'),
    )
    .option('--ca <file>', 'PEM file with the CA certificate of the control plane')
    .option(
      '--admin-key-file <file>',
      'file with the admin key; default: your token in PLATFORM_TOKEN, else PLATFORM_ADMIN_KEY',
    )
    .addOption(logOption('files of the audit log, the oldest first'))
    .option('--key <file>', 'private key as PEM (P-256 or Ed25519); default: the bundle is not signed')
    .addOption(jsonOption('{directory, files, keyid, controls, notIncluded[]{part, reason}}'))
    .addOption(formatOption())
    .addHelpText('after', HELP)
    .action(async (agent: string | undefined, flags: Flags) => {
      finish(
        await makeEvidence(complete(agent, flags, { command, variable: context.env[URL_VARIABLE] }), context),
      );
    });
  addVerify(command, context, finish);
};

const addVerify: AddCommand = (command, context, finish) => {
  command
    .command('verify')
    .summary('verify the signature and the files of a bundle')
    .description(
      'Verifies the signature and the files of a bundle, and prints what the bundle does not include.',
    )
    .argument('<dir>', 'directory of the bundle')
    .option('--pub <file>', 'public key of the signer as PEM; required')
    .addOption(
      logOption('files of the audit log, the oldest first, to compare with the chain heads of the bundle'),
    )
    .addOption(
      jsonOption('{verified, agent, range, keyid, problems[], files[]{name, verified}, log, notIncluded[]}'),
    )
    .addOption(formatOption())
    .addHelpText('after', VERIFY_HELP)
    .action(
      async (
        directory: string,
        { pub, ...flags }: Omit<VerifyFlags, 'pub'> & { pub?: string },
        verify: Command,
      ) => {
        if (pub === undefined) verify.error('error: --pub is required');
        // The command above reads the options that both have, also after the name of the subcommand.
        const { log, json, format } = command.opts<Flags>();
        const isJson = json === true || format === 'json';
        finish(
          await verifyEvidence(
            directory,
            { ...flags, pub, ...(log !== undefined && { log }), ...(isJson && { json: true }) },
            context,
          ),
        );
      },
    );
};

const HELP = `
Examples:
  $ platform evidence shop --from 2026-11-01 --to 2026-11-30 --url https://platform.example.com --key ci.pem --out evidence
  $ platform evidence shop -n shop-team --from 2026-11-01 --to 2026-11-30 --log audit.log.1 audit.log --out evidence
  $ platform evidence shop --from 2026-11-30 --to 2026-11-30 --sidecar localhost:4001 --out evidence
  $ platform evidence verify evidence --pub ci.pub

Files: evidence.json, evidence.html; with --key also evidence.dsse.json and, for cosign, evidence.sigstore.json. What is missing is
listed under notIncluded. The passphrase of an encrypted key comes from ${PASSPHRASE_VARIABLE}, never from an option.
Create a key: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out ci.pem && openssl pkey -in ci.pem -pubout -out ci.pub

Exit codes: 0 written; 1 not written.`;

const VERIFY_HELP = `
Examples:
  $ platform evidence verify evidence --pub ci.pub
  $ platform evidence verify evidence --pub ci.pub --log audit.log.1 audit.log --json

Exit codes: 0 verified; 1 not verified.`;

type Flags = Partial<Omit<EvidenceFlags, 'agent'>> & Pick<EvidenceFlags, 'format'>;

function day(value: string): number {
  const at = dayOf(value);
  if (at === null) throw new InvalidArgumentError('Must be a day such as 2026-11-30.');
  return at;
}

const logOption = (about: string): Option =>
  new Option('--log <file...>', about).argParser((value, before: string[] | undefined) => [
    ...(before ?? []),
    notEmpty(value),
  ]);

/** The flags with defaults. Options of a command with a subcommand cannot be mandatory, because the subcommand would need them. */
function complete(
  agent: string | undefined,
  flags: Flags,
  { command, variable }: { command: Command; variable: string | undefined },
): EvidenceFlags {
  const { from, to, out, sidecar, log = [], ...others } = flags;
  if (agent === undefined) return command.error('error: the name of the agent is required');
  if (from === undefined || to === undefined) return command.error('error: --from and --to are required');
  if (out === undefined) return command.error('error: --out is required');
  if (to < from) return command.error('error: --to is before --from');
  const url = flags.url ?? (sidecar === undefined && variable ? parseHttpUrl(variable) : undefined);
  if (url === null) return command.error(`error: ${URL_VARIABLE} must be an http(s) URL without a query`);
  if (url === undefined && sidecar === undefined && log.length === 0)
    return command.error(`error: --url, --sidecar or --log is required (or set ${URL_VARIABLE})`);
  return {
    ...others,
    ...{ agent, from, to, out, log },
    ...(url !== undefined && { url }),
    ...(sidecar !== undefined && { sidecar }),
  };
}
