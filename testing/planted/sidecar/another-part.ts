// Planted violation: a part must not import another part.
export { renderSchema } from '../../../cli/commands/validate.ts';
