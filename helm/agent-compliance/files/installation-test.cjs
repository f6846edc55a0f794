// What `helm test` runs in a pod of the release: whether an installation does its work, asked from where agents ask.
// Only what Node.js has by itself. The environment is set by templates/tests.yaml.
'use strict';
const { readFileSync } = require('node:fs');
const http = require('node:http');
const https = require('node:https');

const { CONTROL_PLANE_URL, WEBHOOK_URL, OPERATOR_URL, CANARY_NAMESPACE, API_SERVER_URL } = process.env;
const AUTHORITIES = process.env.AUTHORITIES_DIR;
const ACCOUNT = process.env.ACCOUNT_DIR;
/** A new installation may still be starting: each check is repeated for as long, in milliseconds. */
const PATIENCE_MS = Number(process.env.PATIENCE_SECONDS) * 1_000;
const PAUSE_MS = 500;
const ANSWER_MS = 5_000;
const SIDECAR = 'platform-sidecar';

/** Resolves to {status, text}; rejects when there is no answer, or a certificate that the authority did not sign. */
function ask(url, { method = 'GET', ca, headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const { request } = url.startsWith('https:') ? https : http;
    // A connection each: the Service then picks a replica anew.
    const options = { method, ca, agent: false, headers, timeout: ANSWER_MS };
    const sent = request(url, options, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk) => (text += chunk));
      answer.on('end', () => resolve({ status: answer.statusCode, text }));
      answer.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error(`no answer in ${ANSWER_MS / 1_000} s`)));
    sent.on('error', reject);
    sent.end(body);
  });
}

const authority = (part) => readFileSync(`${AUTHORITIES}/${part}.crt`);

function expectStatus({ status, text }, ...wanted) {
  if (!wanted.includes(status)) throw new Error(`answered ${status}: ${text.slice(0, 500)}`);
}

/** A pod that opts in, as restricted as the canary's namespace wants it. */
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
    name: 'the control plane is ready, over TLS that its authority vouches for',
    check: async () =>
      expectStatus(await ask(`${CONTROL_PLANE_URL}/readyz`, { ca: authority('control-plane') }), 200),
  },
  {
    name: 'the admin API tells nothing without the admin key',
    check: async () => {
      const answer = await ask(`${CONTROL_PLANE_URL}/api/v1/agents`, { ca: authority('control-plane') });
      expectStatus(answer, 401, 503);
    },
  },
  {
    name: 'the injector is ready, over TLS that its authority vouches for',
    check: async () => expectStatus(await ask(`${WEBHOOK_URL}/readyz`, { ca: authority('webhook') }), 200),
  },
  {
    name: 'the injector puts the sidecar into a pod that opts in',
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
      const options = { method: 'POST', ca: authority('webhook'), headers: json, body };
      const answer = await ask(`${WEBHOOK_URL}/mutate/pod`, options);
      expectStatus(answer, 200);
      const { patch = '' } = JSON.parse(answer.text).response;
      if (!Buffer.from(patch, 'base64').toString().includes(SIDECAR))
        throw new Error(answer.text.slice(0, 500));
    },
  },
  {
    name: 'the operator is ready, and one of its replicas leads',
    check: async () => {
      expectStatus(await ask(`${OPERATOR_URL}/readyz`), 200);
      await expectMetric(/^leader_election_master_status\{.*\} 1$/m);
    },
  },
  {
    name: 'the canary passes',
    skip: !CANARY_NAMESPACE && 'canary.enabled is false',
    check: () => expectMetric(/^platform_operator_canary_passing 1$/m),
  },
  {
    name: 'the API server has a pod that opts in injected, in a dry run',
    skip: !CANARY_NAMESPACE && 'canary.enabled is false: there is no namespace to ask in',
    check: async () => {
      const token = readFileSync(`${ACCOUNT}/token`, 'utf8');
      const answer = await ask(`${API_SERVER_URL}/api/v1/namespaces/${CANARY_NAMESPACE}/pods?dryRun=All`, {
        method: 'POST',
        ca: readFileSync(`${ACCOUNT}/ca.crt`),
        headers: { ...json, authorization: `Bearer ${token.trim()}` },
        body: JSON.stringify({
          ...optedInPod,
          metadata: { ...optedInPod.metadata, namespace: CANARY_NAMESPACE },
        }),
      });
      expectStatus(answer, 201);
      const first = JSON.parse(answer.text).spec.initContainers?.[0]?.name;
      if (first !== SIDECAR) throw new Error(`its first init container is ${first}`);
    },
  },
];

/** Of any replica: only the one that leads has it. */
async function expectMetric(sample) {
  const answer = await ask(`${OPERATOR_URL}/metrics`);
  expectStatus(answer, 200);
  if (!sample.test(answer.text)) throw new Error(`no replica that was asked says ${sample.source}`);
}

/** Repeats a check until it holds; returns why it does not, or null. */
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
