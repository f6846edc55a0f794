// Bundles the dashboard for browsers into dist/dashboard: index.html, and scripts and stylesheets whose names contain a hash of
// their content. scripts/build.mjs puts these files into the bundle of the control plane, so that an image has one file.
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const FOLDER = 'dist/dashboard';
/** The browsers of the last two years. */
const TARGET = ['chrome131', 'edge131', 'firefox133', 'safari18.2'];
/**
 * Parts of uPlot that the dashboard does not use (logarithmic scales, further kinds of lines, time zones, joined tables): the code
 * that refers to them, and what replaces it. esbuild then removes them, 4 % of the script.
 */
const UNUSED_OF_UPLOT = [
  ['uPlot.join = join;', ''],
  ['uPlot.tzDate  = tzDate;', ''],
  ['uPlot.rangeLog = rangeLog;', ''],
  ['uPlot.rangeAsinh = rangeAsinh;', ''],
  ['(paths.stepped = stepped);', ''],
  ['(paths.spline  = monotoneCubic);', ''],
  ['sc.distr == 3 ? snapLogX : sc.distr == 4 ? snapAsinhX : snapNumX', 'snapNumX'],
  ['sc.distr == 3 ? snapLogY : sc.distr == 4 ? snapAsinhY : snapNumY', 'snapNumY'],
  ['sc.distr == 3 ? logAxisSplits : sc.distr == 4 ? asinhAxisSplits : numAxisSplits', 'numAxisSplits'],
  [
    'sc.distr >= 3 && sc.log == 10 ? log10AxisValsFilt : sc.distr == 3 && sc.log == 2 ? log2AxisValsFilt : retArg1',
    'retArg1',
  ],
  ['[_min, _max] = rangeLog(_min, _min, scaleX.log, false);', ';'],
  ['[_min, _max] = rangeAsinh(_min, _min, scaleX.log, false);', ';'],
];
/** Files that are served, apart from source maps, which stay in dist/dashboard. */
const SERVED = /\.(?:html|js|css|svg)$/;

/** Builds the dashboard and returns esbuild's metadata. */
export async function buildDashboard(root, version) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: 'dashboard/main.tsx', out: 'app' },
      { in: 'dashboard/styles/main.css', out: 'app' },
    ],
    outdir: FOLDER,
    entryNames: '[name]-[hash]',
    bundle: true,
    platform: 'browser',
    format: 'esm',
    target: TARGET,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    // Without a comment in the script that refers to it: the map is not served.
    sourcemap: 'external',
    sourcesContent: false,
    legalComments: 'none',
    logLevel: 'warning',
    metafile: true,
    define: { PRODUCT_VERSION: JSON.stringify(version) },
    plugins: [withoutUnusedPlots],
  });
  const built = Object.keys(metafile.outputs).map((path) => basename(path));
  const page = pageOf(readFileSync(join(root, 'dashboard/index.html'), 'utf8'), built);
  writeFileSync(join(root, FOLDER, 'index.html'), page);
  const icon = join(root, 'dashboard/favicon.svg');
  if (existsSync(icon)) writeFileSync(join(root, FOLDER, 'favicon.svg'), readFileSync(icon));
  // Files of earlier builds have other names. A process that runs from source has read its files at once.
  for (const file of readdirSync(join(root, FOLDER)))
    if (/^app-.*\.(?:js|css)(?:\.map)?$/.test(file) && !built.includes(file))
      rmSync(join(root, FOLDER, file));
  return metafile;
}

/** Removes what keeps unused parts of uPlot in the bundle. Fails if an update of uPlot has other lines. */
const withoutUnusedPlots = {
  name: 'without-unused-plots',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]uplot[\\/]dist[\\/]uPlot\.esm\.js$/ }, ({ path }) => {
      let contents = readFileSync(path, 'utf8');
      for (const [line, replacement] of UNUSED_OF_UPLOT) {
        if (!contents.includes(line)) throw new Error(`${path} does not contain ${line}`);
        contents = contents.replace(line, replacement);
      }
      return { contents, loader: 'js' };
    });
  },
};

/** The page with its script and stylesheets. Relative addresses also work behind a proxy that adds a path prefix. */
function pageOf(template, built) {
  const links = built
    .filter((file) => file.endsWith('.css'))
    .map((file) => `<link rel="stylesheet" href="assets/${file}">`);
  const scripts = built
    .filter((file) => file.endsWith('.js'))
    .map((file) => `<script type="module" src="assets/${file}"></script>`);
  return replaced(replaced(template, '<!-- STYLE -->', links), '<!-- SCRIPT -->', scripts);
}

function replaced(template, placeholder, elements) {
  if (!template.includes(placeholder) || elements.length === 0)
    throw new Error(`dashboard/index.html needs ${placeholder}, and the build a file for it`);
  return template.replace(placeholder, () => elements.join('\n    '));
}

/**
 * Replaces control-plane/dashboard/files.ts, which reads dist/dashboard, by a module that contains the files as text. The
 * metadata of the bundle then has the files as inputs, by which scripts/release/bundled-packages.ts finds their packages.
 */
export const containsDashboard = (root) => ({
  name: 'contains-dashboard',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]control-plane[\\/]dashboard[\\/]files\.ts$/ }, () => {
      const names = readdirSync(join(root, FOLDER)).filter((file) => SERVED.test(file));
      const imports = names.map((name, index) => `import f${index} from './${name}';`);
      const entries = names.map((name, index) => `[${JSON.stringify(name)}, f${index}]`);
      return {
        contents: `${imports.join('\n')}\nconst files = new Map([${entries.join(', ')}]);\nexport const dashboardFiles = () => files;\n`,
        loader: 'js',
        resolveDir: join(root, FOLDER),
      };
    });
    onLoad({ filter: /[\\/]dist[\\/]dashboard[\\/][^\\/]+$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8'),
      loader: 'text',
    }));
  },
});
