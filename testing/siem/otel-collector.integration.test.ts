import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { collector, whyNoCollector } from './collector.ts';
import { until } from '../time/until.ts';
import { LogReaderRig } from './log-reader-rig.ts';

interface LogRecord {
  body: { stringValue: string };
  timeUnixNano: string;
  severityNumber: number;
}
interface Export {
  resourceLogs: { resource: { attributes?: object[] }; scopeLogs: { logRecords: LogRecord[] }[] }[];
}

/** Of OpenTelemetry, for the severities of OCSF from 1. */
const SEVERITIES = [9, 10, 13, 17, 21];

/** What the collector must send for a line. */
function recordOf(line: string): object {
  const { time, severity_id: severity } = JSON.parse(line) as { time: number; severity_id: number };
  return {
    ...{ timeUnixNano: `${time}000000`, severityNumber: SEVERITIES[severity - 1] },
    body: { stringValue: line },
  };
}

(whyNoCollector() === undefined ? describe : describe.skip)(
  'the OpenTelemetry Collector with the configuration of the guide',
  () => {
    let rig: LogReaderRig;
    let exports: Export[];
    let endpoint: Record<string, string>;
    beforeEach(async () => {
      rig = new LogReaderRig();
      exports = [];
      const port = await rig.servers.http((request, response) => {
        let body = '';
        request
          .setEncoding('utf8')
          .on('data', (text: string) => (body += text))
          .on('end', () => {
            exports.push(JSON.parse(body) as Export);
            response.writeHead(200, { 'content-type': 'application/json' }).end('{"partialSuccess":{}}');
          });
      });
      mkdirSync(join(rig.folder, 'positions'));
      endpoint = {
        'endpoint: https://siem.example.com': `endpoint: http://127.0.0.1:${port}\n    encoding: json\n    compression: none`,
        '/var/lib/otelcol': join(rig.folder, 'positions'),
      };
    });
    afterEach(() => rig.close());

    /** Resolves when this number of records has arrived, which must be the first events, each once and in their order. */
    async function untilRecords(count: number, isUp: () => void): Promise<void> {
      const records = (): LogRecord[] =>
        exports.flatMap(({ resourceLogs }) =>
          resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords)),
        );
      const events = (): LogRecord[] => records().filter(({ body }) => body.stringValue.startsWith('{'));
      await until(
        () => (isUp(), events().length >= count),
        () => `${count} events: ${JSON.stringify(exports)}`,
      );
      expect(events()).toMatchObject(rig.lines.slice(0, count).map(recordOf));
    }

    test('exports every event with its time and severity, also after a rotation and a restart', async () => {
      const file = rig.configuration('otel-collector.yaml', {
        ...endpoint,
        '/var/log/agent-compliance/audit.log': rig.path,
      });
      await rig.write(0, 8);
      let isUp = rig.start(collector(), ['--config', file]);
      await untilRecords(8, isUp);
      await rig.writeRotated(8, 12);
      await untilRecords(12, isUp);
      await rig.stop();
      await rig.write(12, rig.lines.length);
      isUp = rig.start(collector(), ['--config', file]);
      await untilRecords(rig.lines.length, isUp);
    });

    test('exports the standard output of sidecars with the names of their pods, and not their own log', async () => {
      const file = rig.configuration('otel-collector-pods.yaml', {
        ...endpoint,
        '/var/log/pods': join(rig.folder, 'pods'),
      });
      const container = join(
        rig.folder,
        'pods/retail_shop-1_49cc7c1f-2f2f-4d2c-9e6a-2e3f1c9f1a11/platform-sidecar',
      );
      mkdirSync(container, { recursive: true });
      const entry = (stream: string, text: string): string =>
        `2026-03-01T12:00:01.123456789Z ${stream} F ${text}\n`;
      const output = rig.lines.map((line) => entry('stderr', '{"msg":"own"}') + entry('stdout', line));
      writeFileSync(join(container, '0.log'), output.join(''));
      await untilRecords(rig.lines.length, rig.start(collector(), ['--config', file]));
      const [first] = exports.flatMap(({ resourceLogs }) => resourceLogs);
      expect(first?.resource.attributes).toEqual(
        expect.arrayContaining([
          { key: 'k8s.namespace.name', value: { stringValue: 'retail' } },
          { key: 'k8s.pod.name', value: { stringValue: 'shop-1' } },
        ]),
      );
    });
  },
);
