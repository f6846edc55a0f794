// Planted violation: the product must not import a development dependency.
export { sample } from 'fast-check';
