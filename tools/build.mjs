import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { buildPage } from './build-page.mjs';

/*
 * Compiles everything that runs into `dist/`: the same tree, in JavaScript, because Node strips no types from packages that were
 * installed (below node_modules). `dist/` is what is published and what images hold: `npm ci --omit=dev` in it is all it needs.
 * `dist/agent-image/` is the agent of a Pod with all that it loads and nothing else. `dist/served/` is `rollcall serve` in few files: nine
 * pods of a hub that start together would else read and compile some hundred files each. The page of the console lies in it as built.
 */

const repository = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(repository, 'dist');
const packages = [
  'libs/shared',
  'agent',
  'cli',
  'console',
  ...readdirSync(join(repository, 'services')).map((name) => `services/${name}`),
].filter((folder) => existsSync(join(repository, folder, 'package.json')));

/** @param {string} path */
function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** @param {string} text */
function asJavaScript(text) {
  return text.replaceAll(/\.ts(?=")/g, '.js');
}

rmSync(dist, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [join(repository, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'],
  {
    cwd: repository,
    stdio: 'inherit',
  },
);
for (const folder of packages) {
  const source = join(repository, folder, 'package.json');
  writeFileSync(join(dist, folder, 'package.json'), asJavaScript(readFileSync(source, 'utf8')));
  const { name } = readJson(source);
  const link = join(dist, 'node_modules', name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), join(dist, folder)), link);
}
const {
  devDependencies: _development,
  // The pinned Node of a checkout: what is built runs on the Node of its image.
  optionalDependencies: _node,
  scripts: _scripts,
  ...root
} = readJson(join(repository, 'package.json'));
writeFileSync(join(dist, 'package.json'), `${JSON.stringify(root, undefined, 2)}\n`);
await buildPage();
cpSync(join(repository, 'console/page/dist'), join(dist, 'console/page/dist'), { recursive: true });
for (const file of ['package-lock.json', '.npmrc', 'deploy']) {
  cpSync(join(repository, file), join(dist, file), { recursive: true });
}
await build({
  input: join(repository, 'cli/agent/pod-agent.ts'),
  platform: 'node',
  logLevel: 'warn',
  output: { dir: join(dist, 'agent-image'), entryFileNames: 'agent.js', minify: true },
});
writeFileSync(join(dist, 'agent-image', 'package.json'), `${JSON.stringify({ type: 'module' })}\n`);
await build({
  input: {
    'pod-service': join(repository, 'cli/serve/pod-service.ts'),
    'evaluate-policies': join(repository, 'services/approver/policy/evaluate-policies.ts'),
  },
  platform: 'node',
  logLevel: 'warn',
  output: { dir: join(dist, 'served'), entryFileNames: '[name].js' },
});
writeFileSync(
  join(dist, 'main.js'),
  `const [, , command, name = '-', ...flags] = process.argv;
const isOfPod = command === 'serve' && !name.startsWith('-') && flags.length === 0;
await import(isOfPod ? './served/pod-service.js' : './cli/main.js');
`,
);
console.log(`built ${packages.length} packages in ${relative(process.cwd(), dist) || '.'}`);
