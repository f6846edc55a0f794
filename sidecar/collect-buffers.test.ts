import { expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { until } from '../testing/time/until.ts';
import { whileConnected } from './collect-buffers.ts';

test('nothing is checked while no server has a connection', async () => {
  let checks = 0;
  whileConnected(1, () => (checks += 1));
  const server = createServer((socket) => void socket.resume());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const opened = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  await until(() => checks > 2, 'checks while two connections are open');
  opened[0]?.destroy();
  const before = checks;
  await until(() => checks > before + 2, 'checks while one connection is open');
  opened[1]?.destroy();
  server.close();
  await once(server, 'close');
  // The timer stops at its next turn.
  await new Promise((resolve) => setTimeout(resolve, 20));
  const after = checks;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(checks).toBe(after);
});
