// The vendor of e2e/programs/fake-vendor.ts as pods with a certificate of a private CA, as a gateway inside the cluster.
import { issueCa, issueLeaf } from '../webhook/certificates/issue.ts';
import type { KubeObject } from './kubectl.ts';
import { podTemplate, programContainer } from './program-pods.ts';

/** Ports of the vendor for connections without TLS, one for each container of a pod. */
export const VENDOR_PORTS = [8001, 8002, 8003] as const;

/** A program that starts slowly on a busy machine has not failed. */
export const LISTENS = { periodSeconds: 1, timeoutSeconds: 20, failureThreshold: 180 };

export const deploymentOf = (name: string, template: unknown): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: { replicas: 1, selector: { matchLabels: { app: name } }, template },
});

/** The certificate of the vendor, and the CA that signs it (ConfigMap `vendor-ca`). */
async function certificates(): Promise<KubeObject[]> {
  const validity = { now: new Date(), days: 1 };
  const ca = await issueCa(validity);
  const { cert, key } = await issueLeaf(ca, ['vendor'], validity);
  return [
    {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'vendor-tls' }, type: 'kubernetes.io/tls' },
      stringData: { 'tls.crt': cert, 'tls.key': key },
    },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'vendor-ca' }, data: { 'ca.crt': ca.cert } },
  ];
}

/** The Deployment and the Service `vendor`, at `https://vendor` and `http://vendor`. */
export async function vendorPods(image: string): Promise<KubeObject[]> {
  const program = programContainer('vendor', image, ['fake-vendor.ts']);
  const mounts = program['volumeMounts'] as KubeObject[];
  const container = {
    ...program,
    volumeMounts: [...mounts, { name: 'tls', mountPath: '/tls', readOnly: true }],
    readinessProbe: { tcpSocket: { port: 8000 }, ...LISTENS },
  };
  const spec = { volumes: [{ name: 'tls', secret: { secretName: 'vendor-tls' } }] };
  const ports = [[80, 8000], [443, 8443], ...VENDOR_PORTS.map((port) => [port, port])];
  return [
    ...(await certificates()),
    deploymentOf('vendor', podTemplate('vendor', [container], { spec })),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'vendor' },
      spec: {
        selector: { app: 'vendor' },
        ports: ports.map(([port, targetPort]) => ({ name: `port-${port}`, port, targetPort })),
      },
    },
  ];
}
