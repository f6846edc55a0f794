// An A2A agent whose task may contain the tokens in its metadata.
import { TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import express from 'express';
import { usageAfter } from './one-call.mjs';

const { MODEL_URL, PORT } = process.env;

const executor = {
  async execute({ taskId, contextId, userMessage }, bus) {
    const status = (state) => ({ state, message: undefined, timestamp: undefined });
    const about = { taskId, contextId };
    bus.publish(
      AgentEvent.task({
        ...{ id: taskId, contextId, status: status(TaskState.TASK_STATE_WORKING), artifacts: [] },
        ...{ history: [userMessage], metadata: undefined },
      }),
    );
    const usage = await usageAfter(MODEL_URL, () =>
      bus.publish(
        AgentEvent.artifactUpdate({
          ...about,
          artifact: {
            ...{ artifactId: 'text', name: 'text', description: '', metadata: undefined, extensions: [] },
            parts: [part('Six times seven is “42”.')],
          },
          ...{ append: false, lastChunk: true, metadata: undefined },
        }),
      ),
    );
    const isStated = userMessage.parts[0].content.value.includes('usage');
    const metadata = isStated ? { usage } : undefined;
    bus.publish(
      AgentEvent.statusUpdate({ ...about, status: status(TaskState.TASK_STATE_COMPLETED), metadata }),
    );
    bus.finished();
  },
  cancelTask: () => Promise.resolve(),
};

const part = (value) => ({
  ...{ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' },
});

function cardFor(host) {
  return {
    ...{ name: 'calculator', description: 'calculates', version: '1.0.0', provider: undefined },
    supportedInterfaces: [
      { url: `http://${host}/a2a`, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' },
    ],
    capabilities: { streaming: true, pushNotifications: false, extensions: [] },
    ...{ securitySchemes: {}, securityRequirements: [], skills: [], signatures: [] },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
  };
}

const requestHandler = new DefaultRequestHandler(cardFor('localhost'), new InMemoryTaskStore(), executor);
express()
  .use('/.well-known/agent-card.json', (request, ...rest) =>
    agentCardHandler({ agentCardProvider: () => Promise.resolve(cardFor(request.headers.host)) })(
      request,
      ...rest,
    ),
  )
  .use('/a2a', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  .listen(Number(PORT), '127.0.0.1');
