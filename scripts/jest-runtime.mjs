// Jest's runtime, except that each worker loads a package once, and not once per test file: compiling packages again took a third
// of the processor time of the unit tests. The project's own modules are loaded for each file, so test files share no state of
// the project.
import { createRequire } from 'node:module';
import { sep } from 'node:path';
import { types } from 'node:util';
import jestRuntime from 'jest-runtime';

const require = createRequire(import.meta.url);
const PACKAGES = `${sep}node_modules${sep}`;
const ERRORS = ['Error', 'TypeError', 'RangeError', 'SyntaxError', 'URIError'];
const isInstance = Function.prototype[Symbol.hasInstance];

// A test file has globals of its own, and packages have those of the worker. `instanceof` compares as if there were one set.
recognize(Promise, types.isPromise);

function recognize(type, isOther) {
  Object.defineProperty(type, Symbol.hasInstance, {
    configurable: true,
    value(value) {
      return isInstance.call(this, value) || (this === type && isOther(value));
    },
  });
}

export default class Runtime extends jestRuntime {
  constructor(config, environment, ...rest) {
    super(config, environment, ...rest);
    for (const name of ERRORS) {
      recognize(environment.global[name], (value) => isInstance.call(globalThis[name], value));
    }
  }

  requireModule(from, path, ...rest) {
    // Jest loads ES modules by another method, so they stay separate for each test file.
    const isPackage = path?.includes(PACKAGES) === true && !path.includes('jest') && !path.endsWith('.json');
    return isPackage ? require(path) : super.requireModule(from, path, ...rest);
  }
}
