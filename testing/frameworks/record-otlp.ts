// Records the exports of the instrumented agents as samples of core/otlp/samples.test.ts: node testing/frameworks/record-otlp.ts
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { freePorts } from '../../examples/demo/free-ports.ts';
import { INSTRUMENTED_ROWS } from './instrumented-rows.ts';
import { Programs, whyNoPackages } from './programs.ts';
import { startVendor } from './vendor.ts';

const FOLDER = join(import.meta.dirname, '../../core/otlp/samples');
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
/** Longer than the agents wait before an export. */
const EXPORT_MS = 1_500;

interface JsonExport {
  resourceSpans: unknown[];
}

const bodies: Buffer[] = [];
const collector = createServer((request, response) => {
  void buffer(request).then((body) => {
    bodies.push(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
    response.writeHead(200).end();
  });
});
await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
const collectorPort = (collector.address() as AddressInfo).port;
const [vendor, programs] = [await startVendor(), new Programs()];
mkdirSync(FOLDER, { recursive: true });
for (const { name, sample, packages, program, env } of INSTRUMENTED_ROWS) {
  const missing = whyNoPackages(packages);
  if (missing !== undefined) throw new Error(missing);
  const [port = 0] = await freePorts(1);
  const agent = await programs.serve(program, packages, {
    ...{ PORT: String(port), MODEL_URL: `${vendor.url}/v1`, OTEL_SDK_DISABLED: 'false' },
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${collectorPort}/v1/traces`,
    ...env,
  });
  vendor.begin({ name });
  bodies.length = 0;
  const headers = { traceparent: TRACEPARENT };
  await fetch(`http://127.0.0.1:${port}/v1/chat`, { method: 'POST', headers, body: '{}' });
  await sleep(EXPORT_MS);
  await agent.close();
  const isJson = sample.endsWith('.json');
  // Messages of protobuf are merged by joining their bytes.
  const spans = bodies.flatMap((body) =>
    isJson ? (JSON.parse(body.toString()) as JsonExport).resourceSpans : [],
  );
  writeFileSync(
    join(FOLDER, sample),
    isJson ? JSON.stringify({ resourceSpans: spans }, null, 1) : Buffer.concat(bodies),
  );
}
await programs.close();
await vendor.close();
collector.close();
