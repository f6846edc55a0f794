import { MEMBERS } from '../../core/record/members.ts';
import type { AddCommand, CliContext } from '../context.ts';
import { formatOption, jsonOption, ReportOption, type FormatFlags } from '../output-options.ts';
import { reported, type Rendered } from '../rendered.ts';
import { painter, table } from '../table.ts';
import { addAuditLogQuery } from './audit-log-query.ts';
import { addAuditLogVerify } from './audit-log-verify.ts';

/** In help order. */
const SUBCOMMANDS: readonly AddCommand[] = [addAuditLogQuery, addAuditLogVerify, addColumns];

export const addAuditLog: AddCommand = (program, context, finish) => {
  const command = program
    .command('audit-log')
    .summary('search and verify the audit log of an agent')
    .description(
      'Searches and verifies the audit log that sidecars write with AUDIT_LOG: one event of OCSF 1.8.0 per line, each with the hash of the line before.',
    )
    .helpCommand(false)
    .addHelpText('after', HELP);
  for (const add of SUBCOMMANDS) add(command, context, finish);
};

const HELP = `
Examples:
  $ platform audit-log query audit.log --outcome deny --since 24h
  $ platform audit-log verify audit.log audit.log.1
  $ platform audit-log columns

Exit codes: 0 the subcommand succeeded; 1 it found a problem, or the command line is not valid.`;

function addColumns(...[parent, context, finish]: Parameters<AddCommand>): void {
  parent
    .command('columns')
    .summary('list the flattened names of the members of all events')
    .description(
      'Lists the members of all events by their flattened names: levels are joined with dots, and a list is the values of its entries, joined with commas. A table for a SIEM needs a column for each of them, because most events have only some.',
    )
    .addOption(jsonOption('{columns[]{name, description}}'))
    .addOption(formatOption())
    .addOption(new ReportOption())
    .addHelpText('after', COLUMNS_HELP)
    .action((flags: FormatFlags) => finish(columns(flags, context)));
}

const COLUMNS_HELP = `
Examples:
  $ platform audit-log columns
  $ platform audit-log columns --json | jq -r '.columns[].name'

Exit codes: 0 printed; 1 the result cannot be written.`;

function columns(flags: FormatFlags, { color }: Pick<CliContext, 'color'>): Rendered {
  const all = Object.entries(MEMBERS).map(([name, description]) => ({ name, description }));
  const rows = all.map(({ name, description }) => [
    { text: name },
    { text: description.replaceAll('`', '') },
  ]);
  return reported(flags, { columns: all }, table(['COLUMN', 'DESCRIPTION'], rows, painter(color)));
}
