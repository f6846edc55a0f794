import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { AgentPolicy } from '../core/organisation/finding.ts';
import { parsePolicy } from '../core/organisation/parse-policy.ts';
import { isRecord } from '../core/untrusted/fields.ts';

/** More is not a file of rules. */
const MAX_BYTES = 1024 * 1024;
const YAML_FILE = /\.(?:ya?ml|json)$/;

/** The policies, or one line per problem: `org.yaml: spec.rules[0].id: must be a DNS label`. */
export type LoadedPolicies = { ok: true; policies: AgentPolicy[] } | { ok: false; problems: string[] };

/**
 * The AgentPolicy documents of a YAML file, or of the YAML files of a directory. Documents of another kind are skipped in a directory,
 * where they may be the rest of a deployment. Rejects if the path cannot be read.
 * @param path absolute
 * @param shown the path in messages
 */
export async function loadPolicies(path: string, shown: string): Promise<LoadedPolicies> {
  const isDirectory = (await stat(path)).isDirectory();
  const names = isDirectory ? (await readdir(path)).filter((name) => YAML_FILE.test(name)).sort() : [''];
  const read = names.map(async (name) => {
    const file = name === '' ? path : join(path, name);
    const about = name === '' ? shown : join(shown, name);
    const text = await readFile(file);
    if (text.length > MAX_BYTES) return { policies: [], problems: [`${about}: has more than 1 MiB`] };
    return policiesIn(text.toString(), { about, othersAreProblems: !isDirectory });
  });
  const files = await Promise.all(read);
  const policies = files.flatMap((file) => file.policies);
  const problems = files.flatMap((file) => file.problems);
  for (const [index, { name }] of policies.entries())
    if (policies.findIndex((other) => other.name === name) !== index)
      problems.push(`${shown}: two policies have the name ${name}`);
  if (policies.length === 0 && problems.length === 0)
    problems.push(`${shown}: contains no AgentPolicy (apiVersion: platform.io/v1, kind: AgentPolicy)`);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, policies };
}

function policiesIn(
  text: string,
  { about, othersAreProblems }: { about: string; othersAreProblems: boolean },
): { policies: AgentPolicy[]; problems: string[] } {
  const policies: AgentPolicy[] = [];
  const problems: string[] = [];
  for (const document of parseAllDocuments(text)) {
    const [error] = document.errors;
    if (error !== undefined) {
      problems.push(`${about}: ${error.message.split('\n', 1)[0]}`);
      continue;
    }
    let value: unknown;
    try {
      value = document.toJS();
    } catch (tooManyAliases) {
      problems.push(`${about}: ${(tooManyAliases as Error).message}`);
      continue;
    }
    if (value === null) continue;
    if (!othersAreProblems && !(isRecord(value) && value['kind'] === 'AgentPolicy')) continue;
    const parsed = parsePolicy(value);
    if (parsed.ok) policies.push(parsed.value);
    else problems.push(...parsed.errors.map(({ path, message }) => `${about}: ${path}: ${message}`));
  }
  return { policies, problems };
}
