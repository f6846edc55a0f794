import { connect, createServer } from 'node:net';

/** Forwards connections to port 15006 as the sidecar of a service mesh does: from 127.0.0.6 to a port of the pod's address. */
const [address = '', port] = process.argv.slice(2);
createServer((client) => {
  const agent = connect({ host: address, port: Number(port), localAddress: '127.0.0.6' });
  client.pipe(agent).pipe(client);
  for (const socket of [client, agent])
    socket.on('error', () => {
      client.destroy();
      agent.destroy();
    });
}).listen(15006, address, () => process.stdout.write('listening\n'));
