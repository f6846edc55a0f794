import { AGENT_CARD_PATH, TaskState, type AgentCard, type Task } from '@a2a-js/sdk';
import { ClientFactory, type Client } from '@a2a-js/sdk/client';
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import express, { type RequestHandler } from 'express';
import { messageOf, textOf, textPart } from '../../testing/sidecar/a2a-messages.ts';
import {
  BREAKS,
  DENIAL,
  inEachSetting,
  type ServedRig,
  type Setting,
} from '../../testing/sidecar/client-rig.ts';
import { until } from '../../testing/time/until.ts';

const BINDINGS = ['JSONRPC', 'HTTP+JSON'] as const;
type Binding = (typeof BINDINGS)[number];

/** A card with the address of the sidecar, as for every agent that is called through a sidecar. */
function cardOf(url: string, binding: Binding): AgentCard {
  return {
    name: 'counter',
    description: 'counts – “slowly”',
    version: '1.0.0',
    supportedInterfaces: [
      { url: `${url}/a2a`, protocolBinding: binding, tenant: '', protocolVersion: '1.0' },
    ],
    provider: undefined,
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
  };
}

/** Artifacts that the client has received. */
let received: string[];
/** true: the agent waits for the client before the next artifact. */
let waits: boolean;

/** Publishes one artifact per word. */
const executor: AgentExecutor = {
  execute: async ({ taskId, contextId, userMessage }: RequestContext, bus: ExecutionEventBus) => {
    const status = (state: TaskState) => ({ state, message: undefined, timestamp: undefined });
    const task: Task = {
      id: taskId,
      contextId,
      status: status(TaskState.TASK_STATE_WORKING),
      artifacts: [],
      history: [userMessage],
      metadata: undefined,
    };
    bus.publish(AgentEvent.task(task));
    for (const word of textOf(userMessage.parts[0]).split(' ')) {
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact: {
            artifactId: word,
            name: word,
            description: '',
            parts: [textPart(word)],
            metadata: undefined,
            extensions: [],
          },
          append: false,
          lastChunk: true,
          metadata: undefined,
        }),
      );
      if (waits) await until(() => received.at(-1) === word, `${word} at the client`);
    }
    const completed = status(TaskState.TASK_STATE_COMPLETED);
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: completed, metadata: undefined }));
    bus.finished();
  },
  cancelTask: () => Promise.resolve(),
};

for (const binding of BINDINGS)
  inEachSetting(`the A2A client over ${binding}`, (setting) => suite(binding, setting));

function suite(binding: Binding, { mode, serve }: Setting): void {
  let rig: ServedRig;
  let client: Client;

  beforeEach(async () => {
    received = [];
    waits = false;
    const app = express();
    // The card contains the address of the sidecar, which is known only after the sidecar has started.
    let handlers: Record<'card' | 'a2a', RequestHandler> | null = null;
    app.use(`/${AGENT_CARD_PATH}`, (...call) => handlers?.card(...call));
    app.use('/a2a', (...call) => handlers?.a2a(...call));
    rig = await serve(app);
    const requestHandler = new DefaultRequestHandler(
      cardOf(rig.url, binding),
      new InMemoryTaskStore(),
      executor,
    );
    const options = { requestHandler, userBuilder: UserBuilder.noAuthentication };
    handlers = {
      card: agentCardHandler({ agentCardProvider: requestHandler }),
      a2a: binding === 'JSONRPC' ? jsonRpcHandler(options) : restHandler(options),
    };
    client = await new ClientFactory().createFromUrl(rig.url);
  });
  afterEach(() => rig.close());

  test('reads the card', async () => {
    const card = await client.getAgentCard();
    expect([card.name, card.description, card.supportedInterfaces[0]?.url]).toEqual([
      'counter',
      'counts – “slowly”',
      `${rig.url}/a2a`,
    ]);
    expect((await rig.completed(1))[0]).toMatchObject({
      method: 'GET',
      path: `/${AGENT_CARD_PATH}`,
      statusCode: 200,
    });
  });

  test('sends a message and gets the finished task', async () => {
    const result = (await client.sendMessage(messageOf('one two “three”'))) as Task;
    expect(result.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(result.artifacts.map(({ parts }) => textOf(parts[0]))).toEqual(['one', 'two', '“three”']);
    const again = await client.getTask({ tenant: '', id: result.id });
    expect(again.artifacts).toEqual(result.artifacts);
  });

  test('streams a message and receives each step before the next step is sent', async () => {
    waits = true;
    const kinds: string[] = [];
    for await (const { payload } of client.sendMessageStream(messageOf('one two three'))) {
      kinds.push(payload?.$case ?? 'none');
      if (payload?.$case === 'artifactUpdate') received.push(payload.value.artifact?.artifactId ?? '');
    }
    expect(kinds).toEqual(['task', 'artifactUpdate', 'artifactUpdate', 'artifactUpdate', 'statusUpdate']);
    expect(received).toEqual(['one', 'two', 'three']);
    expect((await rig.completed(2)).every(({ aborted }) => aborted === undefined)).toBe(true);
  });

  test('receives the agent’s own error', async () => {
    await expect(client.getTask({ tenant: '', id: 'nowhere' })).rejects.toThrow(/not found/i);
  });

  test('is informed of a denied response as the mode requires, complete or streamed', async () => {
    rig.reports = BREAKS;
    const whole = client.sendMessage(messageOf('one two'));
    if (mode === 'enforce') await expect(whole).rejects.toThrow(/403|PolicyViolation/);
    else expect(((await whole) as Task).artifacts).toHaveLength(2);

    let events = 0;
    const receive = async (): Promise<void> => {
      for await (const _event of client.sendMessageStream(messageOf('one two'))) events += 1;
    };
    // Over JSON-RPC the SDK treats the `error` of the 403 body as an error of its protocol and changes the message.
    if (mode === 'enforce') await expect(receive()).rejects.toThrow();
    else await receive();
    expect(events).toBe(mode === 'enforce' ? 0 : 4);
    const entries = (await rig.completed(3)).slice(-2);
    expect(entries.map(({ outcome, policyViolations }) => [outcome, policyViolations])).toEqual([
      ['deny', [DENIAL]],
      ['deny', [DENIAL]],
    ]);
  });
}
