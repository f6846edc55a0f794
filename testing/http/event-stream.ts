import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

/** One server-sent event. */
export interface StreamEvent {
  event: string;
  id?: string;
  data: unknown;
}

/** A reader of server-sent events with its own parser that can stop reading. */
export interface EventStream {
  headers: IncomingHttpHeaders;
  /** The raw received text. */
  text(): string;
  events: StreamEvent[];
  /** The stream has ended or was cut off. */
  ended: Promise<'ended' | 'cut'>;
  pause(): void;
  resume(): void;
  leave(): void;
}

/** Opens a stream; rejects if the response is not an event stream. */
export function openEventStream(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { headers, agent: false }, (response) => {
      if (response.headers['content-type'] === 'text/event-stream') resolve(streamOf(response));
      else {
        response.resume();
        reject(new Error(`no stream: ${response.statusCode}`));
      }
    });
    request.on('error', reject).end();
  });
}

function streamOf(response: IncomingMessage): EventStream {
  const chunks: string[] = [];
  let rest = '';
  const events: StreamEvent[] = [];
  response.setEncoding('utf8').on('data', (chunk: string) => {
    chunks.push(chunk);
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parse(block);
      if (event !== null) events.push(event);
    }
  });
  response.on('error', () => undefined);
  return {
    headers: response.headers,
    text: () => chunks.join(''),
    events,
    ended: new Promise((resolve) =>
      response.once('close', () => resolve(response.complete ? 'ended' : 'cut')),
    ),
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    leave: () => void response.destroy(),
  };
}

/** null for a comment or an event without data. */
function parse(block: string): StreamEvent | null {
  const fields = new Map(
    block
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)] as const),
  );
  const [event = 'message', data, id] = ['event', 'data', 'id'].map((name) => fields.get(name));
  if (data === undefined) return null;
  return { event, data: JSON.parse(data) as unknown, ...(id !== undefined && { id }) };
}
