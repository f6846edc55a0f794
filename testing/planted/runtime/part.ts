// Planted violation: a shared package must not import a part.
export { addValidate } from '../../../cli/commands/validate.ts';
