import { homedir } from 'node:os';
import { join } from 'node:path';
import { executableName } from './pinned-tools.mjs';

/*
 * What lies in the cache:
 *
 *   <cache>/bin/<tool>-<version>/<tool>    finished and tried, e.g. ~/.cache/rollcall/bin/etcd-3.6.16/etcd
 *   <cache>/bin/<tool>-<version>/.sha256.json   what it was then, see cache-note.mjs
 *   <cache>/bin/.making-<pid>-<random>/    being downloaded or built; renamed to the above when it is good
 *   <cache>/locks/*.lock                   who is at work
 */

/**
 * The folder that keeps downloaded and built programs for all checkouts of this user.
 * @param {NodeJS.ProcessEnv} env
 * @returns {string} `ROLLCALL_CACHE`, else `rollcall` in the place that the operating system gives to caches
 */
export function cacheFolder(env) {
  if (env.ROLLCALL_CACHE) return env.ROLLCALL_CACHE;
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'rollcall');
  if (process.platform === 'win32')
    return join(env.LOCALAPPDATA || join(homedir(), 'AppData', 'Local'), 'rollcall', 'cache');
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rollcall');
}

/**
 * @param {string} cache
 * @param {{ name: string, version: string }} tool
 */
export const folderInCache = (cache, tool) => join(cache, 'bin', `${tool.name}-${tool.version}`);

/**
 * @param {string} cache
 * @param {{ name: string, version: string }} tool
 */
export const pathInCache = (cache, tool) => join(folderInCache(cache, tool), executableName(tool.name));

/**
 * @param {string} cache
 * @param {{ name: string, version: string }} tool
 */
export const foldersOnTheWay = (cache, tool) => [cache, join(cache, 'bin'), folderInCache(cache, tool)];
