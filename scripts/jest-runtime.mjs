// Jest's runtime, except that each worker loads a package once, and not once per test file: compiling packages again took a third
// of the processor time of the unit tests. The project's own modules are loaded for each file, so test files share no state of
// the project.
import { createRequire } from 'node:module';
import { sep } from 'node:path';
import { types } from 'node:util';
import jestRuntime from 'jest-runtime';

const require = createRequire(import.meta.url);
const PACKAGES = `${sep}node_modules${sep}`;
const isInstance = Function.prototype[Symbol.hasInstance];
/** Types whose objects from test files packages recognize with `instanceof`. */
const TYPES = {
  Array: Array.isArray,
  Date: types.isDate,
  Error: types.isNativeError,
  Function: (value) => typeof value === 'function',
  Map: types.isMap,
  Promise: types.isPromise,
  RegExp: types.isRegExp,
  Set: types.isSet,
};
/** Errors of packages that test files recognize. */
const ERRORS = ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'URIError'];

// A test file has globals of its own, and packages have those of the worker. `instanceof` compares as if there were one set.
function recognize(type, isOther) {
  Object.defineProperty(type, Symbol.hasInstance, {
    configurable: true,
    value(value) {
      return isInstance.call(this, value) || (this === type && isOther(value));
    },
  });
}
for (const [name, isOther] of Object.entries(TYPES)) recognize(globalThis[name], isOther);

export default class Runtime extends jestRuntime {
  constructor(config, environment, ...rest) {
    super(config, environment, ...rest);
    for (const name of ERRORS) {
      recognize(environment.global[name], (value) => isInstance.call(globalThis[name], value));
    }
  }

  requireModule(from, path, ...rest) {
    // Jest loads ES modules by another method, so they stay separate for each test file.
    const packageFile = path?.includes(PACKAGES) ? path.slice(path.lastIndexOf(PACKAGES)) : null;
    const isPackage = packageFile !== null && !/jest|\.json$/.test(packageFile);
    return isPackage ? require(path) : super.requireModule(from, path, ...rest);
  }
}
