// Simulates an agent outside the cluster: sends a heartbeat twice a second, each over a new connection, and reports the results
// on port 8000.
//   PLATFORM_URL, PLATFORM_KEY, PLATFORM_CA (PEM), HEARTBEAT (JSON; instance, seq and times are added)
import { createServer } from 'node:http';
import { request } from 'node:https';

const { PLATFORM_URL = '', PLATFORM_KEY = '', PLATFORM_CA = '', HEARTBEAT = '{}' } = process.env;
const EVERY_MS = 500;
/** Longer than a busy machine needs: a slow response is not an error. */
const TIMEOUT_MS = 60_000;
const startedAt = new Date().toISOString();
const heartbeat = JSON.parse(HEARTBEAT) as object;

let accepted = 0;
/** Other responses or connection errors, newest last. */
const rejections: string[] = [];
let rejectionStreak = 0;
let mostInARow = 0;
let seq = 0;

function push(): Promise<string> {
  seq += 1;
  const body = JSON.stringify({ ...heartbeat, seq, startedAt, sentAt: new Date().toISOString() });
  const headers = { authorization: `Bearer ${PLATFORM_KEY}`, 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const options = { method: 'POST', ca: PLATFORM_CA, headers, agent: false, timeout: TIMEOUT_MS };
    const outgoing = request(new URL('/api/v1/heartbeat', PLATFORM_URL), options, (response) => {
      response.resume().on('error', (error) => resolve(error.message));
      response.on('end', () => resolve(String(response.statusCode)));
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no response in time')));
    outgoing.on('error', (error) => resolve(error.message));
    outgoing.end(body);
  });
}

async function beat(): Promise<void> {
  const outcome = await push();
  if (outcome === '200' || outcome === '204') {
    accepted += 1;
    rejectionStreak = 0;
  } else {
    rejections.push(`${new Date().toISOString()} ${outcome}`);
    rejectionStreak += 1;
    mostInARow = Math.max(mostInARow, rejectionStreak);
  }
  setTimeout(() => void beat(), EVERY_MS);
}

createServer((_request, response) => {
  response.end(JSON.stringify({ accepted, mostInARow, rejections }));
}).listen(8000);
process.once('SIGTERM', () => process.exit(0));
void beat();
