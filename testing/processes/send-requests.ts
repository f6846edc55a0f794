import { get } from 'node:http';

/** Sends the requests of the first argument one after the other, and prints the status of each as JSON; null: no connection. */
const requests = JSON.parse(process.argv[2] ?? '[]') as [from: string, url: string][];

const statusOf = (localAddress: string, url: string): Promise<number | null> =>
  new Promise((resolve) => {
    get(url, { localAddress, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? null);
    }).on('error', () => resolve(null));
  });

const statuses: (number | null)[] = [];
for (const [from, url] of requests) statuses.push(await statusOf(from, url));
process.stdout.write(`${JSON.stringify(statuses)}\n`);
