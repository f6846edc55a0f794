/**
 * The first thing a bundle does: an older Node.js than the product needs would end in a stack trace of a missing function.
 * The command line goes on in the Node.js that the package brings, where it is installed; a server says which one to use,
 * because a process between it and its supervisor would have to pass on every signal.
 * Runs in the bundle, on any Node.js: nothing younger than ES2019.
 */
function guard(require, process, options) {
  const have = process.versions.node.split('.').map(Number);
  const need = options.minimum.split('.').map(Number);
  if (have[0] > need[0] || (have[0] === need[0] && have[1] >= need[1])) return;
  let own = null;
  try {
    own = require.resolve('node-' + process.platform + '-' + process.arch + '/bin/node');
  } catch {
    // The package is installed without its optional dependencies.
  }
  if (own !== null && own !== process.execPath && options.goesOn) {
    // Ctrl-C reaches the other process as well, which then decides.
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

/** The guard as text for the head of a bundle. `minimum`: major.minor; `goesOn`: continues in the package's own Node.js. */
export function nodeGuard(options) {
  return `(${guard.toString()})(require, process, ${JSON.stringify(options)});`;
}
