// Software sbom of materials (CycloneDX 1.6) of an image or the npm package.
import { createHash } from 'node:crypto';
import type { BundledPackage } from './bundled-packages.ts';

export interface SbomSubject {
  name: string;
  version: string;
  kind: 'container' | 'library';
  packages: readonly BundledPackage[];
  /** `sha512-…` from the lock file, by package directory. */
  integrity: Readonly<Record<string, string | undefined>>;
  /** Creation time in the SBOM, in seconds since 1970. */
  epoch: number;
}

/** The same subject gives an identical SBOM with the same serial number. */
export function sbomOf(subject: SbomSubject): object {
  const { name, version, kind, packages, epoch } = subject;
  const root = `${name}@${version}`;
  const sbom = {
    metadata: {
      timestamp: new Date(epoch * 1_000).toISOString(),
      component: {
        type: kind,
        'bom-ref': root,
        name,
        version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
      },
    },
    components: packages.map((each) => componentOf(each, subject.integrity[each.folder])),
    dependencies: [
      { ref: root, dependsOn: packages.map(({ folder }) => folder) },
      ...packages.map(({ folder, imports }) => ({ ref: folder, dependsOn: imports })),
    ],
  };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(sbom))}`,
    version: 1,
    ...sbom,
  };
}

function componentOf({ folder, name, version, license }: BundledPackage, integrity?: string): object {
  const [scope, bare] = name.startsWith('@') ? (name.split('/') as [string, string]) : [undefined, name];
  return {
    type: 'library',
    'bom-ref': folder,
    ...(scope === undefined ? {} : { group: scope }),
    name: bare,
    version,
    ...(integrity === undefined ? {} : { hashes: [hashOf(integrity)] }),
    licenses: [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }],
    purl: `pkg:npm/${name.replace('@', '%40')}@${version.replaceAll('+', '%2B')}`,
  };
}

/** The hash of the published archive. */
function hashOf(integrity: string): { alg: string; content: string } {
  const [, content = ''] = /^sha512-(\S+)$/.exec(integrity) ?? [];
  if (content === '') throw new Error(`the lock file has an integrity that is not SHA-512: ${integrity}`);
  return { alg: 'SHA-512', content: Buffer.from(content, 'base64').toString('hex') };
}

/** UUID version 8 (custom): the hash of the content. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');
}
