/**
 * Runs a census in a network namespace without interfaces other than loopback, which has the network 10.9.0.0/24 as well.
 * Connections of this process and of a second process with the same user are made, then the facts are printed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../runtime/clock.ts';
import { Census } from '../../sidecar/census/census.ts';

/** Two connections to one address, one to a declared address, one to the sidecar, one UDP socket, three refused attempts. */
const AGENT = `
const net = require('net');
const targets = [[443, '10.9.0.2'], [443, '10.9.0.2'], [443, '10.9.0.3'], [4000, '127.0.0.1'], [9, '127.0.0.1'], [9, '127.0.0.1'], [9, '127.0.0.1']];
for (const [port, host] of targets) net.connect(port, host).on('error', () => {});
require('dgram').createSocket('udp4').connect(4433, '10.9.0.7');
process.stdin.resume().on('end', () => process.exit());
`;

for (const [port, host] of [
  [4000, '127.0.0.1'],
  [443, '0.0.0.0'],
] as const) {
  const server = createServer((socket) => socket.resume());
  server.listen(port, host);
  await once(server, 'listening');
}
const census = new Census({
  ...{ isOn: true, clock: systemClock, ownPorts: [4000] },
  logger: { info: () => undefined, warn: () => undefined },
  knownHosts: () => ({
    ...{ expected: new Set(['10.9.0.3']), others: new Set<string>() },
    ...{ domains: [], isPartial: false, lanes: [] },
  }),
  lookup: () => Promise.resolve([]),
});
census.start();
await once(connect(443, '10.9.0.9'), 'connect');
const agent = spawn(process.execPath, ['-e', AGENT], { stdio: ['pipe', 'inherit', 'inherit'] });
for (;;) {
  const facts = census.facts();
  if (facts === null) throw new Error(census.state.reason ?? '');
  if (facts.unseenEgress.length >= 2 && facts.unexplainedOpens >= 3) break;
  await sleep(20);
}
const { unseenEgress, unexplainedOpens } = census.facts() ?? { unseenEgress: [], unexplainedOpens: -1 };
const found = unseenEgress.map(({ address, port, verdict, count }) => ({ address, port, verdict, count }));
process.stdout.write(JSON.stringify({ found, unexplainedOpens }));
agent.stdin.end();
await once(agent, 'exit');
process.exit(0);
