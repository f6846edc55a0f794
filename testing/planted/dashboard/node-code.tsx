// Planted violation: code for browsers must not import code for Node.js.
export { Problem } from '../../../runtime/problem.ts';
