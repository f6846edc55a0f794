import type { Socket } from 'node:net';

/** Calls `take` with each complete request (Latin-1) on this connection, independent of segmentation. */
export function eachRequest(socket: Socket, take: (request: string) => void): void {
  let text = '';
  socket.on('data', (chunk: Buffer | string) => {
    text += typeof chunk === 'string' ? chunk : chunk.toString('latin1');
    for (let length = lengthOf(text); length > 0; length = lengthOf(text)) {
      const request = text.slice(0, length);
      text = text.slice(length);
      take(request);
    }
  });
}

/** Length of the first request in the text; 0: incomplete. */
function lengthOf(text: string): number {
  const head = text.indexOf('\r\n\r\n') + 4;
  if (head < 4) return 0;
  const lines = text.slice(0, head);
  if (/^transfer-encoding: *chunked/im.test(lines)) {
    const end = /(?:^|\r\n)0\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(text.slice(head));
    return end === null ? 0 : head + end.index + end[0].length;
  }
  const length = head + Number(/^content-length: *(\d+)/im.exec(lines)?.[1] ?? 0);
  return text.length < length ? 0 : length;
}
