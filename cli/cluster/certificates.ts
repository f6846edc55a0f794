import { X509Certificate } from 'node:crypto';

/** Parses the certificates of a PEM text; unreadable blocks are skipped. */
export function certificatesIn(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

/** Whether a served chain leads to one of the CAs, also through intermediate certificates of the chain. */
export function leadsTo(chain: readonly X509Certificate[], cas: readonly X509Certificate[]): boolean {
  const [leaf, ...rest] = chain;
  if (leaf === undefined) return false;
  if (cas.some((ca) => isIssuedBy(leaf, ca))) return true;
  const issuer = rest.find((each) => isIssuedBy(leaf, each));
  if (issuer === undefined) return false;
  return leadsTo([issuer, ...rest.filter((each) => each !== issuer)], cas);
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
