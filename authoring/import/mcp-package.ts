import { FORMATS } from '../../core/manifest/schema-node.ts';
import type { Cursor } from './cursor.ts';

/** How to start a package as a program. */
export interface Start {
  command: string;
  args: string[];
  /** Absent: no variables. */
  env: Record<string, string> | undefined;
  /** Variables that must be set. */
  envVars: string[];
}

interface Runner {
  command: string;
  /** Arguments in front of those that the source gives for the runner. */
  before: readonly string[];
  /** How the package is named. */
  target: (identifier: string, version: string | undefined) => string;
  /** Arguments between the package and its own arguments. */
  after?: readonly string[];
  /** Arguments that pass a variable on. */
  pass?: (variable: string) => string[];
}

const withVersion = (separator: string) => (identifier: string, version: string | undefined) =>
  version === undefined ? identifier : `${identifier}${separator}${version}`;

/** Programs that start a package, by `registryType`. */
const RUNNERS: Readonly<Record<string, Runner>> = {
  npm: { command: 'npx', before: ['-y'], target: withVersion('@') },
  pypi: { command: 'uvx', before: [], target: withVersion('==') },
  nuget: { command: 'dnx', before: [], target: withVersion('@'), after: ['--yes'] },
  oci: {
    command: 'docker',
    before: ['run', '-i', '--rm'],
    // Later versions of the format have the tag in the identifier.
    target: (image, version) => (/:[^/]+$/.test(image) ? image : withVersion(':')(image, version)),
    pass: (variable) => ['-e', variable],
  },
};

const VARIABLE = new RegExp(FORMATS.variable.pattern);
/** A value without a template variable. */
const FIXED = /^[^{}]*$/;
const COMMAND = /^[A-Za-z0-9][\w.-]*$/;

/** undefined: no known program starts this kind of package. */
export function startOf(entry: Cursor): Start | undefined {
  const type = entry.peekText('registryType');
  const runner = Object.hasOwn(RUNNERS, type) ? RUNNERS[type] : undefined;
  const identifier = runner === undefined ? undefined : entry.at('identifier').text();
  if (runner === undefined || identifier === undefined) return undefined;
  entry.at('registryType').use();
  const variables = entry.at('environmentVariables').items().map(variableOf);
  const env = Object.fromEntries(
    variables.flatMap(({ name, value }): [string, string][] =>
      name === undefined || value === undefined ? [] : [[name, value]],
    ),
  );
  return {
    command: entry.at('runtimeHint').text(COMMAND) ?? runner.command,
    args: [
      ...runner.before,
      ...argumentsOf(entry.at('runtimeArguments')).filter((each) => !runner.before.includes(each)),
      ...Object.keys(env).flatMap((name) => runner.pass?.(name) ?? []),
      runner.target(identifier, entry.at('version').text()),
      ...(runner.after ?? []),
      ...argumentsOf(entry.at('packageArguments')),
    ],
    env: Object.keys(env).length === 0 ? undefined : env,
    envVars: variables.flatMap(({ name, isRequired }) => (isRequired && name !== undefined ? [name] : [])),
  };
}

/** Arguments with a fixed value, and flags without a value. What a user must fill in has no place. */
function argumentsOf(list: Cursor): string[] {
  return list.items().flatMap((argument) => {
    const value = fixedValueOf(argument);
    const isNamed = argument.peek('type') === 'named';
    const needsValue = ['valueHint', 'value', 'default', 'variables', 'choices'].some(
      (key) => argument.peek(key) !== undefined,
    );
    if (value === undefined && (!isNamed || needsValue)) return [];
    const name = isNamed ? argument.at('name').text() : undefined;
    if (isNamed && name === undefined) return [];
    argument.at('type').use();
    return [name, value].filter((part) => part !== undefined);
  });
}

interface Variable {
  /** Absent: the name is not valid. */
  name: string | undefined;
  /** Absent: the variable is optional and has no default. */
  value: string | undefined;
  isRequired: boolean;
}

/** A secret or required variable is passed on from the environment of the agent. */
function variableOf(variable: Cursor): Variable {
  const isSecret = variable.at('isSecret').flag() ?? false;
  const fixed = isSecret ? undefined : fixedValueOf(variable);
  const isRequired = fixed === undefined && (variable.at('isRequired').flag() ?? false);
  if (fixed === undefined && !isSecret && !isRequired)
    return { name: undefined, value: undefined, isRequired: false };
  const name = variable.at('name').text(VARIABLE);
  return { name, value: fixed ?? (name === undefined ? undefined : `$env:${name}`), isRequired };
}

function fixedValueOf(input: Cursor): string | undefined {
  return input.at('value').text(FIXED) ?? input.at('default').text(FIXED);
}
