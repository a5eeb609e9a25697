import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';

/** Compiled, as published packages and images hold it, or as it stands in the repository, types stripped at each start. */
export type AgentForm = 'compiled' | 'source';

const repository = join(import.meta.dirname, '..', '..');
const source = join(import.meta.dirname, 'agent-process.mjs');
/** Below the repository's packages, so that they are found; not `dist/`, which a build takes away under running agents. */
const compiled = join(repository, 'node_modules', '.cache', 'rollcall-bench');
const folders = [
  'agent',
  'libs/shared',
  ...readdirSync(join(repository, 'services')).map((name) => `services/${name}`),
];
let isCompiled = false;

/** @returns the file that Node runs as an agent */
export function agentProgram(form: AgentForm): string {
  if (form === 'source') return source;
  const program = compiledProgram(basename(source));
  copyFileSync(source, program);
  return program;
}

/**
 * Compiles everything once a run, as `npm run build` does it, but for checking the types.
 * @param path - of a compiled file, in the repository
 */
export function compiledProgram(path: string): string {
  if (!isCompiled) compile();
  isCompiled = true;
  return join(compiled, path);
}

function compile(): void {
  rmSync(compiled, { recursive: true, force: true });
  const compiler = join(repository, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(
    process.execPath,
    [compiler, '-p', join('bench', 'tsconfig.compiled.json'), '--noCheck', '--outDir', compiled],
    {
      cwd: repository,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  mkdirSync(join(compiled, 'node_modules', '@rollcall'), { recursive: true });
  // What the CLI installs stands beside it, as in the packages.
  symlinkSync(join(repository, 'deploy'), join(compiled, 'deploy'));
  for (const folder of folders.filter((one) => existsSync(join(repository, one, 'package.json')))) {
    const manifest = readFileSync(join(repository, folder, 'package.json'), 'utf8');
    const { name } = JSON.parse(manifest) as { name: string };
    writeFileSync(join(compiled, folder, 'package.json'), manifest.replaceAll('.ts"', '.js"'));
    symlinkSync(join(compiled, folder), join(compiled, 'node_modules', name));
  }
}
