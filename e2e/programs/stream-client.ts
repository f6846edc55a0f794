// Keeps one stream of server-sent events and one WebSocket open until the server ends them. Prints a JSON line when both have
// received data, and one at the end.
//   stream-client.ts HOST:PORT
import { get } from 'node:http';

const [host = ''] = process.argv.slice(2);
const seen = { events: 0, lastEvent: '', stream: 'open', ticks: 0, closeCode: 0 };
let hasBegun = false;

function note(): void {
  const isOver = seen.stream !== 'open' && seen.closeCode !== 0;
  if (!isOver && (hasBegun || seen.events === 0 || seen.ticks === 0)) return;
  hasBegun = true;
  process.stdout.write(`${JSON.stringify(seen)}\n`);
}

get(`http://${host}/stream`, (response) => {
  response.setEncoding('utf8').on('data', (text: string) => {
    for (const [, data = ''] of text.matchAll(/^data: (.*)$/gm)) {
      seen.events += 1;
      seen.lastEvent = data;
    }
    note();
  });
  response.on('close', () => {
    seen.stream = response.complete ? 'whole' : 'cut';
    note();
  });
});

const socket = new WebSocket(`ws://${host}/frames`);
socket.addEventListener('message', () => {
  seen.ticks += 1;
  note();
});
socket.addEventListener('close', ({ code }) => {
  seen.closeCode = code;
  note();
});
