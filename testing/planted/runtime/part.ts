// Planted violation: a shared package must not import a part.
export { renderSchema } from '../../../cli/commands/validate.ts';
