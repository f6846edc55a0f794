/**
 * Runs first in every bundle, because an unsupported Node.js version would fail with a stack trace about a missing function.
 * The CLI continues in the Node.js installed with the package. A server only reports which Node.js to use, because an
 * intermediate process would have to forward every signal of the supervisor.
 * Runs in any Node.js version: uses nothing newer than ES2019.
 */
function guard(require, process, options) {
  const have = process.versions.node.split('.').map(Number);
  const need = options.minimum.split('.').map(Number);
  if (have[0] > need[0] || (have[0] === need[0] && have[1] >= need[1])) return;
  let own = null;
  try {
    own = require.resolve('node-' + process.platform + '-' + process.arch + '/bin/node');
  } catch {
    // The package was installed without its optional dependencies.
  }
  if (own !== null && own !== process.execPath && options.continues) {
    // Ctrl-C also reaches the child process, which handles it.
    process.on('SIGINT', function () {});
    const other = require('child_process').spawnSync(own, process.argv.slice(1), { stdio: 'inherit' });
    process.exit(other.status === null ? 1 : other.status);
  }
  const advice = own === null ? '' : '; run it with ' + own;
  process.stderr.write(
    options.part +
      ' needs Node.js ' +
      options.minimum +
      ' or newer, this is ' +
      process.versions.node +
      advice +
      '\n',
  );
  process.exit(1);
}

/** Source text of the guard for a bundle. `minimum`: major.minor; `continues`: continue in the package's own Node.js. */
export function nodeGuard(options) {
  return `(${guard.toString()})(require, process, ${JSON.stringify(options)});`;
}
