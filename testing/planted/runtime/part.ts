// Planted violation: a shared room must not know a part.
export { renderSchema } from '../../../cli/commands/validate.ts';
