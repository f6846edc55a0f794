import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { rsyslog, whyNoRsyslog } from '../machine/debian-server.ts';
import { until } from '../time/until.ts';
import { LogReaderRig } from './log-reader-rig.ts';

(whyNoRsyslog() === undefined ? describe : describe.skip)(
  'rsyslog with the configuration of the guide',
  () => {
    let rig: LogReaderRig;
    beforeEach(() => {
      rig = new LogReaderRig();
    });
    afterEach(() => rig.close());

    test('forwards every event byte by byte, also after a rotation and a restart, and no other line', async () => {
      let received = '';
      const port = await rig.servers.tcp((socket) =>
        socket.setEncoding('utf8').on('data', (text: string) => (received += text)),
      );
      const file = rig.configuration('rsyslog.conf', {
        '/var/log/agent-compliance/audit.log': rig.path,
        '/var/spool/rsyslog': rig.folder,
        'siem.example.com': '127.0.0.1',
        '5140': String(port),
      });
      const start = (): (() => void) =>
        rig.start(rsyslog(), ['-n', '-f', file, '-i', join(rig.folder, 'rsyslog.pid')]);
      const untilLines = async (count: number, isUp: () => void): Promise<void> => {
        await until(
          () => (isUp(), received.split('\n').length > count),
          () => `${count} lines: ${received}`,
        );
        expect(received).toBe(
          rig.lines
            .slice(0, count)
            .map((line) => `${line}\n`)
            .join(''),
        );
      };

      await rig.write(0, 8);
      let isUp = start();
      await untilLines(8, isUp);
      await rig.writeRotated(8, 12);
      await untilLines(12, isUp);
      await rig.stop();
      await rig.write(12, rig.lines.length);
      isUp = start();
      await untilLines(rig.lines.length, isUp);
      expect(rig.lines.at(-1)!.length).toBeGreaterThan(7_900);
    });
  },
);
