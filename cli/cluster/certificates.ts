import { X509Certificate } from 'node:crypto';

/** The certificates of a PEM text that can be read. */
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

/** Whether a served chain leads to one of the authorities, by whatever it brings along. */
export function leadsTo(chain: readonly X509Certificate[], authorities: readonly X509Certificate[]): boolean {
  const [leaf, ...rest] = chain;
  if (leaf === undefined) return false;
  if (authorities.some((authority) => isIssuedBy(leaf, authority))) return true;
  const issuer = rest.find((each) => isIssuedBy(leaf, each));
  if (issuer === undefined) return false;
  return leadsTo([issuer, ...rest.filter((each) => each !== issuer)], authorities);
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}
