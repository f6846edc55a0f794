import { Ajv2020 } from 'ajv/dist/2020.js';
import { reportedName } from '../untrusted/reported-name.ts';
import type { Manifest } from '../manifest/manifest.ts';
import { jsonOf } from '../untrusted/fields.ts';

/** Whether the arguments of a call, as JSON text, are valid. Text that is not JSON is not valid; empty text is `{}`. */
export type ArgumentCheck = (argumentsJson: string) => boolean;

/** Longer arguments (UTF-16 units) are not valid, so that one call cannot occupy the process. */
export const MAX_ARGUMENTS = 1024 * 1024;

/**
 * The checks of the tools with `constraints`, by name; compiled once per manifest. The parser of the manifest accepts only
 * schemas that compile. Should one not compile, no arguments are valid.
 */
export function compileConstraints(manifest: Manifest): ReadonlyMap<string, ArgumentCheck> {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    messages: false,
    logger: false,
    ownProperties: true,
  });
  return new Map(
    (manifest.spec.tools ?? []).flatMap(({ name, constraints }): [string, ArgumentCheck][] =>
      constraints === undefined ? [] : [[reportedName(name), checkOf(ajv, constraints)]],
    ),
  );
}

function checkOf(ajv: Ajv2020, constraints: Record<string, unknown>): ArgumentCheck {
  try {
    const validate = ajv.compile(constraints);
    return (text) => {
      if (text.length > MAX_ARGUMENTS) return false;
      const value = text.trim() === '' ? {} : jsonOf(text);
      return value !== undefined && isValid(validate, value);
    };
  } catch {
    return () => false;
  }
}

/** Schemas that contain themselves, and comparisons with `const` or `enum`, cannot follow arguments of any depth. */
function isValid(validate: (value: unknown) => unknown, value: unknown): boolean {
  try {
    return validate(value) === true;
  } catch {
    return false;
  }
}
