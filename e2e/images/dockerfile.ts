// Reads the final stages of images/Dockerfile, so that an image built without Docker does not differ from it. Only instructions
// that can be reproduced by copying files are supported; any other instruction in a target is an error.
//   node dockerfile.ts OUT [TARGETS]   writes OUT/<target>/rootfs and OUT/<target>/config.json for these targets or all targets;
//                                      prints the names of the targets in OUT
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { argv } from 'node:process';

interface Instruction {
  keyword: string;
  rest: string;
}

interface Stage {
  name: string;
  from: string;
  instructions: Instruction[];
}

/** The `config` object of an OCI image and the files of its layer: path in the repository → path in the image. */
export interface Image {
  config: {
    User?: string;
    WorkingDir: string;
    Env: string[];
    Entrypoint?: string[];
    Cmd?: string[];
    ExposedPorts?: Record<string, object>;
    Labels?: Record<string, string>;
  };
  copies: { source: string; destination: string }[];
}

/** Environment of every distroless image. */
const BASE_ENV = [
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
];
/** The stages whose files a target may have. Without Docker, build.sh makes the same files in the repository. */
const SOURCES = ['--from=build', '--from=cache'];
/** Repository root in these stages. */
const BUILD_ROOT = '/src/';

/** The stages of a Dockerfile, in order. Comments and continued lines are resolved. */
export function stagesOf(text: string): Stage[] {
  const stages: Stage[] = [];
  const lines = text
    .replace(/^\s*#.*\n?/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n');
  for (const line of lines) {
    const match = /^\s*(\w+)\s+(.*\S)\s*$/.exec(line);
    if (!match) continue;
    const [, keyword = '', rest = ''] = match;
    if (keyword.toUpperCase() === 'FROM') {
      const [from = '', , name = String(stages.length)] = rest.replace(/^(--\S+\s+)+/, '').split(/\s+/);
      stages.push({ name, from, instructions: [] });
    } else {
      stages.at(-1)?.instructions.push({ keyword: keyword.toUpperCase(), rest });
    }
  }
  return stages;
}

/** The targets: every stage that builds on another stage of the file. */
export function targetsOf(stages: Stage[]): string[] {
  return stages.filter(({ from }) => stages.some(({ name }) => name === from)).map(({ name }) => name);
}

/** The image of a target, including the stages it builds on. Throws for instructions that cannot be reproduced. */
export function imageOf(stages: Stage[], target: string): Image {
  const stage = stages.find(({ name }) => name === target);
  if (!stage) throw new Error(`the Dockerfile has no stage "${target}"`);
  const isOuterBase = !stages.some(({ name }) => name === stage.from);
  const image: Image = isOuterBase
    ? { config: { WorkingDir: '/', Env: [...BASE_ENV] }, copies: [] }
    : imageOf(stages, stage.from);
  for (const instruction of stage.instructions) apply(image, instruction, target);
  return image;
}

function apply(image: Image, { keyword, rest }: Instruction, target: string): void {
  const { config } = image;
  switch (keyword) {
    case 'LABEL':
      config.Labels = { ...config.Labels, ...labelsOf(rest, target) };
      return;
    case 'USER':
      config.User = rest;
      return;
    case 'WORKDIR':
      config.WorkingDir = posix.resolve(config.WorkingDir, rest);
      return;
    case 'ENV':
      config.Env.push(...rest.split(/\s+/));
      return;
    case 'EXPOSE':
      config.ExposedPorts = Object.fromEntries(rest.split(/\s+/).map((port) => [`${port}/tcp`, {}]));
      return;
    case 'ENTRYPOINT':
      config.Entrypoint = JSON.parse(rest) as string[];
      delete config.Cmd;
      return;
    case 'CMD':
      config.Cmd = JSON.parse(rest) as string[];
      return;
    case 'COPY':
      image.copies.push(...copiesOf(rest, config.WorkingDir, target));
      return;
    default:
      throw new Error(`target ${target}: ${keyword} ${rest} cannot be reproduced without Docker`);
  }
}

/** A sequence of `key=value` or `key="some words"`. */
function labelsOf(rest: string, target: string): Record<string, string> {
  const pairs = [...rest.matchAll(/(?:^|\s)([\w.-]+)=(?:"([^"\\$]*)"|([^\s"'\\$]+))(?=\s|$)/g)];
  if (pairs.map(([pair]) => pair).join('') !== rest)
    throw new Error(`target ${target}: LABEL ${rest} is not supported: only plain values are allowed`);
  return Object.fromEntries(pairs.map(([, key = '', quoted, bare]) => [key, quoted ?? bare ?? '']));
}

function copiesOf(rest: string, workingDir: string, target: string): Image['copies'] {
  const [flag, ...paths] = rest.split(/\s+/);
  const destination = paths.pop();
  if (!SOURCES.includes(flag ?? '') || destination === undefined || paths.length === 0) {
    throw new Error(`target ${target}: COPY ${rest} must copy only from the stages build and cache`);
  }
  return paths.map((path) => {
    if (!path.startsWith(BUILD_ROOT) || /[*?[]/.test(path)) {
      throw new Error(`target ${target}: COPY ${path} is not a plain path under ${BUILD_ROOT}`);
    }
    const isDirectory = destination.endsWith('/') && !path.endsWith('/');
    const absolute = posix.resolve(workingDir, destination);
    return {
      source: path.slice(BUILD_ROOT.length),
      destination: isDirectory ? posix.join(absolute, basename(path)) : absolute,
    };
  });
}

function writeTarget(image: Image, root: string, out: string): void {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(join(out, 'rootfs', image.config.WorkingDir), { recursive: true });
  for (const { source, destination } of image.copies) {
    if (!existsSync(join(root, source))) throw new Error(`${source} is missing: run npm run build`);
    if (!source.endsWith('/') && statSync(join(root, source)).isDirectory()) {
      throw new Error(`COPY ${source}: add a trailing slash to mark it as a directory`);
    }
    cpSync(join(root, source), join(out, 'rootfs', destination), { recursive: true });
  }
  // Written last, so that its presence marks a complete directory.
  writeFileSync(join(out, 'config.json'), JSON.stringify(image.config));
}

/**
 * Writes the targets in `only`, or all targets if it is empty; other targets in `out` are kept. Returns all targets in `out`
 * in the Dockerfile's order. Throws for an unknown target before anything is written.
 */
export function writeTargets(root: string, out: string, only: string): string[] {
  const stages = stagesOf(readFileSync(join(root, 'images/Dockerfile'), 'utf8'));
  const targets = targetsOf(stages);
  const named = only.split(/\s+/).filter((name) => name !== '');
  const unknownTarget = named.find((name) => !targets.includes(name));
  if (unknownTarget !== undefined)
    throw new Error(`the Dockerfile has no target "${unknownTarget}"; targets: ${targets.join(', ')}`);
  for (const target of named.length > 0 ? named : targets) {
    writeTarget(imageOf(stages, target), root, join(out, target));
  }
  return targets.filter((target) => existsSync(join(out, target, 'config.json')));
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '../..');
  console.log(writeTargets(root, argv[2] ?? '', argv[3] ?? '').join('\n'));
}
