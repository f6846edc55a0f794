import { createServer } from 'node:net';

/** The ports of a run, and the options that set them. */
export const PORT_OPTIONS = {
  agent: '--agent-port',
  proxy: '--proxy-port',
  control: '--control-port',
  egress: '--egress-port',
} as const;
export type PortName = keyof typeof PORT_OPTIONS;
export type Ports = Record<PortName, number>;

/** A port that a run needs. `isGiven`: by an option, so that no other port is used instead. */
export interface WantedPort {
  port: number;
  isGiven: boolean;
}

const STEP = 10;
const MAX_STEPS = 100;

/** The wanted ports if they are free. Instead of one that is not and was not given, the next free one in steps of ten. */
export async function choosePorts(
  wanted: Readonly<Record<PortName, WantedPort>>,
): Promise<{ ok: true; ports: Ports } | { ok: false; reason: string }> {
  const ports: Partial<Ports> = {};
  const names = Object.keys(PORT_OPTIONS) as PortName[];
  // Those that were given first: a default must not take one of them.
  for (const name of names.toSorted((a, b) => Number(wanted[b].isGiven) - Number(wanted[a].isGiven))) {
    const { port, isGiven } = wanted[name];
    const used = Object.values(ports);
    const found = await firstFree(port, { steps: isGiven ? 1 : MAX_STEPS, used });
    if (found === null)
      return {
        ok: false,
        reason: `port ${port} (${PORT_OPTIONS[name]}) is in use or not allowed; choose another one`,
      };
    ports[name] = found;
  }
  return { ok: true, ports: ports as Ports };
}

async function firstFree(
  first: number,
  { steps, used }: { steps: number; used: readonly number[] },
): Promise<number | null> {
  for (let step = 0; step < steps; step += 1) {
    const port = first + STEP * step;
    if (port <= 65_535 && !used.includes(port) && (await isFree(port))) return port;
  }
  return null;
}

/** On loopback and on every address: not every system rejects one of them if a process listens on the other. */
async function isFree(port: number): Promise<boolean> {
  return (await canListen(port, '127.0.0.1')) && (await canListen(port));
}

function canListen(port: number, host?: string): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
