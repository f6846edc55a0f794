// Planted violation: a part must not import another part.
export { addValidate } from '../../../cli/commands/validate.ts';
