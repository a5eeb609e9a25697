import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The holder shows that it is alive this often; after `staleAfterMs` without it the lock counts as left behind. */
const touchEveryMs = 5_000;
const staleAfterMs = 60_000;
const lookAgainMs = 250;

/**
 * Runs something that only one process of this user should do at a time.
 *
 * The lock saves work and is not what keeps the cache whole: everything is made in a folder of its own and renamed.
 * So the rare case of two holders (a machine that slept while the lock went stale) does no harm.
 * @template T
 * @param {string} file
 * @param {object} options
 * @param {(holder: string) => void} options.onWait - called once when somebody else holds the lock
 * @param {AbortSignal | undefined} [options.signal] - stops waiting
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, { onWait, signal }, work) {
  mkdirSync(dirname(file), { recursive: true });
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), since: new Date().toISOString() });
  for (let waited = false; !take(file, mine);) {
    const holder = readHolder(file);
    if (holder === undefined) continue;
    if (isLeftBehind(holder)) {
      putAside(file, holder.text);
      continue;
    }
    if (!waited) onWait(`pid ${holder.pid} on ${holder.host}, since ${holder.since}`);
    waited = true;
    await sleep(lookAgainMs, undefined, { signal });
  }
  const alive = setInterval(() => touch(file), touchEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(alive);
    if (readHolder(file)?.text === mine) rmSync(file, { force: true });
  }
}

/**
 * @param {string} file
 * @param {string} content
 */
function take(file, content) {
  try {
    writeFileSync(file, content, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * @param {string} file
 * @returns who holds the lock; undefined when it is free meanwhile
 */
function readHolder(file) {
  try {
    const text = readFileSync(file, 'utf8');
    return { text, ageMs: Date.now() - statSync(file).mtimeMs, ...parseHolder(text) };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * A lock is created before it is written, so it may be read empty; process 0 is taken as alive until it is stale.
 * @param {string} text
 * @returns {{ pid: number, host: string, since: string }}
 */
function parseHolder(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { pid: 0, host: 'this machine', since: 'just now' };
  }
}

/**
 * A process id says something only on its own machine; from elsewhere (a cache shared with a container) the age does.
 * @param {{ pid: number, host: string, ageMs: number }} holder
 */
function isLeftBehind({ pid, host, ageMs }) {
  if (ageMs > staleAfterMs) return true;
  return pid > 0 && host === hostname() && !isRunning(pid);
}

/**
 * @param {number} pid
 * @returns {boolean}
 */
export function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/**
 * Removes a lock that was left behind: by renaming first, so that of two who judged it only one has it.
 * @param {string} file
 * @param {string} judged - what it said when it was judged
 */
function putAside(file, judged) {
  const aside = `${file}.left-behind-${process.pid}`;
  try {
    renameSync(file, aside);
    const got = readFileSync(aside, 'utf8');
    // Somebody was faster and this is already their new lock: give it back.
    if (got !== judged) take(file, got);
    rmSync(aside, { force: true });
  } catch {
    // Gone meanwhile: nothing to put aside.
  }
}

/** @param {string} file */
function touch(file) {
  try {
    utimesSync(file, new Date(), new Date());
  } catch {
    // Taken as stale by somebody else; the work goes on all the same.
  }
}
