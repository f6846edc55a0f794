// node relay.ts SOCKET HOST PORT - runs inside a cluster's namespaces and forwards connections of a Unix socket, which both sides
// can access, to an address inside the cluster. Exits when its standard input ends.
import { connect, createServer } from 'node:net';
import { argv, stdin, stdout } from 'node:process';

const [socket = '', host = '', port = ''] = argv.slice(2);
const server = createServer({ allowHalfOpen: true }, (client) => {
  const target = connect({ host, port: Number(port), allowHalfOpen: true });
  client.pipe(target).pipe(client);
  client.on('error', () => target.destroy());
  target.on('error', () => client.destroy());
  client.on('close', () => target.destroy());
});
server.listen(socket, () => stdout.write('ready\n'));
stdin.on('end', () => process.exit()).resume();
