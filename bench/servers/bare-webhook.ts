// Minimal webhook: reads the AdmissionReview and allows the pod, with the same TLS settings as the injector.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';

const { PORT, CERT_FILE = '', KEY_FILE = '' } = process.env;
const tls = { cert: readFileSync(CERT_FILE), key: readFileSync(KEY_FILE), minVersion: 'TLSv1.2' } as const;

const server = createServer(tls, (request, response) => {
  void text(request).then((body) => {
    const { request: reviewed } = JSON.parse(body) as { request: { uid: string } };
    const result = { uid: reviewed.uid, allowed: true };
    response.setHeader('Content-Type', 'application/json');
    response.end(
      JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: result }),
    );
  });
});
server.keepAliveTimeout = 120_000;
server.listen(Number(PORT), '127.0.0.1');
