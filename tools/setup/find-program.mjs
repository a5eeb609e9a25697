import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { checkOnlyOurs, isAsNoted } from './cache-note.mjs';
import { foldersOnTheWay, pathInCache } from './cache-folder.mjs';
import { executableName } from './pinned-tools.mjs';
import { runProgram } from './run-program.mjs';
import { messageOf, SetupError } from './setup-error.mjs';
import { isAccepted, parseVersion } from './version-accepted.mjs';

/** Longest time a program may take to print its version; kube-apiserver needs 0.3 s on an idle core. */
const versionTimeoutMs = 20_000;

/**
 * @typedef {import('./pinned-tools.mjs').PinnedTool} PinnedTool
 * @typedef {object} Found
 * @property {string} path
 * @property {string} version
 * @property {'environment' | 'PATH' | 'cache' | 'download' | 'build'} from
 *
 * Looks for a program that is there already: explicit path, PATH, cache, in this order.
 * @param {PinnedTool} tool
 * @param {{ env: NodeJS.ProcessEnv, cache: string }} place
 * @returns {Promise<{ found: Found } | { found: undefined, tried: string[] }>} `tried` says for each way why not
 * @throws SetupError when the explicit path will not do: a person meant it, so nothing else is taken instead
 */
export async function findProgram(tool, { env, cache }) {
  const explicit = env[tool.env];
  if (explicit) {
    const version = await versionOf(tool, explicit);
    if (typeof version === 'string') return { found: { path: explicit, version, from: 'environment' } };
    throw new SetupError(
      `${tool.env}="${explicit}": ${version.wrong}. ` +
        `Name a ${tool.name} ${rangeOf(tool)}, or unset ${tool.env} and let set-up provide ${tool.version}.`,
    );
  }
  const tried = [`${tool.env}: not set`];

  const onPath = pathsOf(tool, env);
  if (onPath.length === 0) tried.push('PATH: not there');
  for (const path of onPath) {
    const version = await versionOf(tool, path);
    if (typeof version === 'string') return { found: { path, version, from: 'PATH' } };
    tried.push(`PATH: ${path}: ${version.wrong}`);
  }

  checkOnlyOurs(foldersOnTheWay(cache, tool));
  const cached = pathInCache(cache, tool);
  if (!existsSync(cached)) tried.push(`cache: no ${cached}`);
  else if (!isAsNoted(cached))
    tried.push(`cache: ${cached} is not what set-up put there: its SHA-256 is another`);
  else {
    const version = await versionOf(tool, cached);
    if (typeof version === 'string') return { found: { path: cached, version, from: 'cache' } };
    tried.push(`cache: ${cached}: ${version.wrong}`);
  }
  return { found: undefined, tried };
}

/**
 * Asks a program for its version.
 * @param {PinnedTool} tool
 * @param {string} path
 * @returns {Promise<string | { wrong: string }>} the version, or why this program will not do
 */
export async function versionOf(tool, path) {
  if (!existsSync(path)) return { wrong: 'there is no such file' };
  try {
    const signal = AbortSignal.timeout(versionTimeoutMs);
    const { code, stdout } = await runProgram(path, tool.versionArgs, { signal });
    // Not stderr: a shell that cannot run the file names its path there, which has the version in it.
    const version = parseVersion(stdout);
    if (version === undefined || code !== 0)
      return { wrong: `\`${tool.versionArgs.join(' ')}\` prints no version` };
    if (!isAccepted(version, tool.accepts)) return { wrong: `is ${version}, needed is ${rangeOf(tool)}` };
    return version;
  } catch (error) {
    return { wrong: `does not run here (${messageOf(error)})` };
  }
}

/** @param {PinnedTool} tool */
const rangeOf = (tool) => `>= ${tool.accepts.from} and < ${tool.accepts.below}`;

/**
 * @param {PinnedTool} tool
 * @param {NodeJS.ProcessEnv} env
 */
const pathsOf = (tool, env) => {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  return [...new Set(folders)].map((folder) => join(folder, executableName(tool.name))).filter(existsSync);
};
