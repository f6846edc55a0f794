// A bundle of its own (scripts/build.mjs): only the commands that read code load the parsers.
import { parser as scripts } from '@lezer/javascript';

export { parser as python } from '@lezer/python';
export const typeScript = scripts.configure({ dialect: 'ts' });
export const javaScript = scripts.configure({ dialect: 'jsx' });
