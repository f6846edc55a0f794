import { bodyText, unusable, type Body } from './body-text.ts';

const FORBIDDEN: readonly (readonly [pattern: RegExp, shown: string])[] = [
  [/\b(?:import|require|eval|Function|WebAssembly|Worker)\b/, 'import, require, eval or similar functions'],
  [
    /\b(?:globalThis|global|constructor|prototype|Reflect|Proxy)\b|__/,
    'globalThis, constructor or prototype',
  ],
  [/\bprocess\b(?!\s*\.\s*env\b)/, 'functions of process'],
  // A comment in a script, and an error in a module.
  [/<!--|^\s*-->/m, 'an HTML comment'],
  [/\bfunction run\b/, 'a whole function'],
];

/** Compiles a function body. It never runs, and a body that ends its function early does not compile. */
const { constructor: AsyncFunction } = Object.getPrototypeOf(async () => Promise.resolve()) as {
  constructor: new (parameter: string, body: string) => unknown;
};

/** Checks the body of an async JavaScript function: it compiles, and contains no construct that a tool does not need. Not a sandbox. */
export function javascriptBody(text: string): Body {
  const body = bodyText(text);
  if (!body.ok) return body;
  const { code } = body;
  try {
    new AsyncFunction('text', `"use strict";\n${code}\n`);
  } catch {
    return unusable('the code has a syntax error');
  }
  const found = FORBIDDEN.find(([pattern]) => pattern.test(code));
  if (found !== undefined) return unusable(`the code contains ${found[1]}`);
  return /\breturn\b/.test(code) ? body : unusable('the code returns nothing');
}

/** Environment variables that the code of a tool reads by name. */
export function javascriptVariables(code: string): string[] {
  const read = /\bprocess\s*\.\s*env\s*(?:\??\.\s*([A-Za-z_]\w*)|(?:\?\.)?\[\s*(["'`])([A-Za-z_]\w*)\2)/g;
  return [...code.matchAll(read)].map(([, member, , key]) => member ?? key ?? '');
}
