import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StreamingClient } from '../testing/streaming-client.ts';
import { pin, residentMb, type Started } from './processes.ts';
import type { StreamMemory } from './results.ts';
import { SIDECAR, TARGETS } from './targets.ts';

const STREAMS = 1_000;
/** Streams before the first reading: the heap grows until a process has handled some. */
const WARM_UP = 100;
const EVENTS = 20;
const GIVE_UP_MS = 60_000;

/** Opens streams through the sidecar, sends events through all of them, and reads its memory. */
export async function measureStreams(
  opened: Started[],
  { directory }: { directory: string },
): Promise<StreamMemory> {
  const target = TARGETS.find(({ name }) => name === SIDECAR);
  if (target === undefined) throw new Error(`there is no target ${SIDECAR}`);
  const program = join(import.meta.dirname, '../testing/processes/streaming-agent.ts');
  const agent = fork(program, { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const close = async (): Promise<void> => {
    agent.kill('SIGKILL');
    if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit');
  };
  const pid = agent.pid ?? 0;
  opened.push({ pid, close });
  const [{ port }] = (await once(agent, 'message')) as [{ port: number }];
  pin(pid, 'others');
  const url = `http://127.0.0.1:${port}`;
  const sidecar = await target.start({ agent: { pid, port, url }, directory });
  opened.push(sidecar);
  pin(sidecar.pid, 'target');
  await wave(WARM_UP, agent, sidecar);
  const beforeMb = residentMb(sidecar.pid);
  return { streams: STREAMS, beforeMb, openMb: await wave(STREAMS, agent, sidecar) };
}

/** Sends every event through all streams, then ends them. Returns the largest memory of the sidecar. */
async function wave(
  count: number,
  agent: ChildProcess,
  { pid, port }: { pid: number; port: number },
): Promise<number> {
  const clients = Array.from({ length: count }, () => new StreamingClient(port));
  const until = async (isDone: (client: StreamingClient) => boolean): Promise<void> => {
    const deadline = Date.now() + GIVE_UP_MS;
    while (!clients.every(isDone)) {
      const fault = clients.find((client) => client.fault !== null)?.fault;
      if (fault !== undefined) throw new Error(`a stream failed: ${fault}`);
      if (Date.now() > deadline) throw new Error('the streams stopped');
      await sleep(2);
    }
  };
  let most = 0;
  for (let number = 0; number <= EVENTS; number++) {
    if (number > 0) agent.send('event');
    await until((client) => client.number >= number);
    most = Math.max(most, residentMb(pid));
  }
  agent.send('end');
  await until(({ hasEnded }) => hasEnded);
  for (const { socket } of clients) socket.destroy();
  return most;
}
