// Planted violation: the product must not import a package that only development installs.
export { sample } from 'fast-check';
