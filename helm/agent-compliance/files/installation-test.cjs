// `helm test` runs this script in a pod of the release to test the installation from inside the cluster.
// It uses only built-in modules of Node.js. templates/tests.yaml sets its environment.
'use strict';
const { readFileSync } = require('node:fs');
const http = require('node:http');
const https = require('node:https');

const { CONTROL_PLANE_URL, WEBHOOK_URL, OPERATOR_URL, CANARY_NAMESPACE, API_SERVER_URL } = process.env;
const CA_DIRECTORY = process.env.AUTHORITIES_DIR;
const ACCOUNT = process.env.ACCOUNT_DIR;
/** Time for which each check is repeated, in milliseconds, because a new installation may still be starting. */
const PATIENCE_MS = Number(process.env.PATIENCE_SECONDS) * 1_000;
const PAUSE_MS = 500;
const RESPONSE_MS = 5_000;
const SIDECAR = 'platform-sidecar';

/** Resolves to {status, text}; rejects if there is no response, or if the CA did not sign the certificate. */
function send(url, { method = 'GET', ca, headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const { request } = url.startsWith('https:') ? https : http;
    // A new connection per request, so that the Service selects a replica each time.
    const options = { method, ca, agent: false, headers, timeout: RESPONSE_MS };
    const sent = request(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, text }));
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error(`no response within ${RESPONSE_MS / 1_000} s`)));
    sent.on('error', reject);
    sent.end(body);
  });
}

const caOf = (part) => readFileSync(`${CA_DIRECTORY}/${part}.crt`);

function expectStatus({ status, text }, ...wanted) {
  if (!wanted.includes(status)) throw new Error(`responded with ${status}: ${text.slice(0, 500)}`);
}

/** A pod that opts in and meets the restricted profile, which the canary's namespace enforces. */
const optedInPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'installation-test',
    annotations: { 'platform.io/inject': 'true', 'platform.io/agent-name': 'installation-test' },
  },
  spec: {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'agent',
        image: 'agent',
        ports: [{ name: 'http', containerPort: 8000 }],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
  },
};

const json = { 'content-type': 'application/json' };

const CHECKS = [
  {
    name: 'the control plane is ready, with a certificate of its CA',
    check: async () =>
      expectStatus(await send(`${CONTROL_PLANE_URL}/readyz`, { ca: caOf('control-plane') }), 200),
  },
  {
    name: 'the admin API rejects requests without the admin key',
    check: async () => {
      const response = await send(`${CONTROL_PLANE_URL}/api/v1/agents`, { ca: caOf('control-plane') });
      expectStatus(response, 401, 503);
    },
  },
  {
    name: 'the injector is ready, with a certificate of its CA',
    check: async () => expectStatus(await send(`${WEBHOOK_URL}/readyz`, { ca: caOf('webhook') }), 200),
  },
  {
    name: 'the injector adds the sidecar to a pod that opts in',
    check: async () => {
      const request = {
        uid: 'installation-test',
        kind: { group: '', version: 'v1', kind: 'Pod' },
        resource: { group: '', version: 'v1', resource: 'pods' },
        namespace: 'installation-test',
        operation: 'CREATE',
        dryRun: true,
        object: optedInPod,
      };
      const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request });
      const options = { method: 'POST', ca: caOf('webhook'), headers: json, body };
      const response = await send(`${WEBHOOK_URL}/mutate/pod`, options);
      expectStatus(response, 200);
      const { patch = '' } = JSON.parse(response.text).response;
      if (!Buffer.from(patch, 'base64').toString().includes(SIDECAR))
        throw new Error(response.text.slice(0, 500));
    },
  },
  {
    name: 'the operator is ready, and one replica is the leader',
    check: async () => {
      expectStatus(await send(`${OPERATOR_URL}/readyz`), 200);
      await expectMetric(/^leader_election_master_status\{.*\} 1$/m);
    },
  },
  {
    name: 'the canary passes',
    skip: !CANARY_NAMESPACE && 'canary.enabled is false',
    check: () => expectMetric(/^platform_operator_canary_passing 1$/m),
  },
  {
    name: 'a dry-run pod that opts in is injected through the API server',
    skip: !CANARY_NAMESPACE && 'canary.enabled is false, so there is no namespace for a dry run',
    check: async () => {
      const token = readFileSync(`${ACCOUNT}/token`, 'utf8');
      const response = await send(`${API_SERVER_URL}/api/v1/namespaces/${CANARY_NAMESPACE}/pods?dryRun=All`, {
        method: 'POST',
        ca: readFileSync(`${ACCOUNT}/ca.crt`),
        headers: { ...json, authorization: `Bearer ${token.trim()}` },
        body: JSON.stringify({
          ...optedInPod,
          metadata: { ...optedInPod.metadata, namespace: CANARY_NAMESPACE },
        }),
      });
      expectStatus(response, 201);
      const first = JSON.parse(response.text).spec.initContainers?.[0]?.name;
      if (first !== SIDECAR) throw new Error(`its first init container is ${first}`);
    },
  },
];

/** Requests the metrics of any replica; only the leader exposes the sample. */
async function expectMetric(sample) {
  const response = await send(`${OPERATOR_URL}/metrics`);
  expectStatus(response, 200);
  if (!sample.test(response.text)) throw new Error(`metric not found: ${sample.source}`);
}

/** Repeats a check until it passes or the time is over; returns the problem, or null. */
async function problemOf(check) {
  for (const end = Date.now() + PATIENCE_MS; ;) {
    try {
      await check();
      return null;
    } catch (error) {
      if (Date.now() > end) return error.message;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

async function main() {
  for (const { name, skip, check } of CHECKS) {
    const problem = skip ? null : await problemOf(check);
    if (problem !== null) process.exitCode = 1;
    console.log(
      skip ? `skipped: ${name} (${skip})` : problem === null ? `ok: ${name}` : `FAILED: ${name}: ${problem}`,
    );
  }
}

void main();
