import type { RequestHandler } from 'express';
import { jsonBody } from '../../runtime/http-app.ts';
import { Problem } from '../../runtime/problem.ts';
import { callerOf } from '../auth/caller.ts';
import { noteAgent } from '../auth/record-actions.ts';
import type { RegistrationTokens } from '../auth/registration-token.ts';
import type { ControlPlaneContext, ControlPlaneRoute } from '../context.ts';
import { parseRegistration } from '../registration/parse-registration.ts';
import { MAX_LIVE_TOKENS } from '../status/changes.ts';
import type { TokenOutcome } from '../stores/store.ts';
import { tryAgain } from '../try-again.ts';

/** A registration may carry a whole manifest. */
const MAX_REGISTRATION_BYTES = 256 * 1024;

/** Registration and key renewal for agents outside the cluster. */
export function registrationRoutes(context: ControlPlaneContext): ControlPlaneRoute[] {
  return [
    {
      method: 'POST',
      path: '/api/v1/register',
      access: 'register',
      summary:
        'Body `{agentName, runtime, manifest?}`. 201 with `{agentId, apiKey, expiresAt}`. 200 for a known agent, with the same id and a new key; all older keys are revoked. The key is a JWT, valid for 30 days. 409 if the name belongs to a workload.',
      operation: {
        id: 'registerAgent',
        body: 'Registration',
        responses: {
          200: { description: 'A new key of a known agent; the older keys are revoked.', schema: 'AgentKey' },
          201: { description: 'The key of the new agent.', schema: 'AgentKey' },
          409: 'The name belongs to a workload, or the agent was removed concurrently.',
        },
      },
      handlers: [jsonBody(MAX_REGISTRATION_BYTES), register(context)],
    },
    {
      method: 'POST',
      path: '/api/v1/token',
      access: 'bearer',
      summary: `200 with a new key for a valid key. The old key stays valid until it expires. All renewals of one UTC day return the same key, which expires 30 days after that day. 429 if the agent has ${MAX_LIVE_TOKENS} valid keys (only possible with keys of 0.1.0). 403 for pods.`,
      operation: {
        id: 'renewKey',
        responses: {
          200: { description: 'A new key.', schema: 'AgentKey' },
          403: 'The token is the token of a pod; the kubelet renews it.',
          409: 'The agent was removed concurrently.',
          429: 'The agent has too many valid keys, or this address sent too many invalid tokens.',
        },
      },
      handlers: [renew(context)],
    },
  ];
}

function register(context: ControlPlaneContext): RequestHandler {
  return async (request, response) => {
    const { store, clock, logger } = context;
    const keys = signer(context);
    const parsed = parseRegistration(request.body as unknown);
    if (!parsed.ok)
      throw new Problem(400, 'the registration is not valid', { extra: { errors: parsed.errors } });
    const { agentName, runtime, manifest } = parsed.value;
    const namespace = context.remoteNamespace;
    noteAgent(request, { namespace, name: agentName });
    const at = clock.now();
    const outcome = await store.register({ namespace, name: agentName, runtime, manifest }, at);
    if (outcome.kind === 'taken')
      throw new Problem(409, `${agentName} is a workload of this cluster and does not need registration`);
    const { agentId } = outcome.record;
    const { apiKey, ...token } = await keys.issue({ agentId, agentName }, at);
    await requireStored(store.replaceTokens({ namespace, name: agentName, agentId, token, at }));
    logger.info('remote agent registered', { agent: agentName, namespace, agentId, outcome: outcome.kind });
    response
      .status(outcome.kind === 'created' ? 201 : 200)
      .json({ agentId, apiKey, expiresAt: token.expiresAt });
  };
}

function renew(context: ControlPlaneContext): RequestHandler {
  return async (_request, response) => {
    const { store, clock, logger } = context;
    const caller = callerOf(response);
    if (caller.kind === 'pod')
      throw new Problem(403, 'pod tokens are renewed by the kubelet, not by this API');
    const { key, agentId, family } = caller;
    const at = clock.now();
    const { apiKey, ...token } = await signer(context).renew({ agentId, agentName: key.name, family }, at);
    await requireStored(store.addToken({ ...key, agentId, token, at }));
    logger.info('renewed agent key issued', { agent: key.name, namespace: key.namespace, agentId });
    response.json({ agentId, apiKey, expiresAt: token.expiresAt });
  };
}

function signer({ tokens }: ControlPlaneContext): RegistrationTokens {
  // With the admin key there is always a signing key.
  if (tokens === null) throw new Problem(503, 'neither JWT_SECRET nor PLATFORM_ADMIN_KEY is set');
  return tokens;
}

async function requireStored(outcome: Promise<TokenOutcome>): Promise<void> {
  switch (await outcome) {
    case 'stored':
      return;
    case 'unknown-agent':
      throw new Problem(409, 'the agent was removed concurrently; register again');
    case 'too-many':
      throw tryAgain(`the agent has ${MAX_LIVE_TOKENS} valid keys; use one of them or register again`, 3600, {
        status: 429,
      });
  }
}
