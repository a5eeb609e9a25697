import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { reapStale } from '../../../cli/up/process/child-process-stale.ts';
import { type PooledPlane, startPooledPlane } from './pooled-plane.ts';
import { type PlaneKind, poolVariable } from './plane-kinds.ts';

/*
 * Before all test files: API servers that are lent to one test after the other, each as clean as a new one. To start one takes five
 * seconds of CPU, to put its content back a tenth of one. A test that restarts, kills or weakens its API server has one of its own.
 */

const prefix = 'rollcall-planes-';
/** Below those that tests and the processes they start draw (own-ports.ts). */
const ports = '6000-9999';

/** @returns what takes all of them away */
export default async function setUp(): Promise<() => Promise<void>> {
  await reapThoseOfDeadRuns();
  const folder = mkdtempSync(join(tmpdir(), `${prefix}${process.pid}-`));
  process.env['ROLLCALL_LOOPBACK_PORTS'] = ports;
  const idle: PooledPlane[] = [];
  const all = new Set<PooledPlane>();
  let hasEnded = false;

  async function lend(kind: PlaneKind): Promise<PooledPlane> {
    const index = idle.findIndex((plane) => plane.kind === kind);
    const [found] = index < 0 ? [] : idle.splice(index, 1);
    if (found) return found;
    const started = await startPooledPlane(kind, mkdtempSync(join(folder, `${kind}-`)));
    all.add(started);
    return started;
  }
  async function takeBack(plane: PooledPlane): Promise<void> {
    if (!hasEnded && (await plane.putBack().catch(() => false))) idle.push(plane);
    else {
      all.delete(plane);
      await plane.stop();
    }
  }
  /** One line asks for one; it is lent until the connection ends, with whoever asked. */
  async function serve(socket: Socket): Promise<void> {
    socket.on('error', () => undefined);
    const ended = once(socket, 'close').catch(() => undefined);
    const [line] = (await once(createInterface(socket), 'line').catch(() => [])) as string[];
    if (line === undefined) return;
    try {
      const plane = await lend(line as PlaneKind);
      socket.write(`${JSON.stringify({ stateDir: plane.stateDir })}\n`);
      await ended;
      await takeBack(plane);
    } catch (error) {
      socket.end(`${JSON.stringify({ failed: String(error) })}\n`);
    }
  }

  const socketPath = join(folder, 'pool');
  const server = createServer((socket) => void serve(socket)).listen(socketPath);
  await once(server, 'listening');
  process.env[poolVariable] = socketPath;
  return async () => {
    hasEnded = true;
    server.close();
    await Promise.all([...all].map((plane) => plane.stop()));
    rmSync(folder, { recursive: true, force: true });
  };
}

/** A run that was killed leaves its servers behind. */
async function reapThoseOfDeadRuns(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((each) => each.startsWith(prefix))) {
    if (isRunning(Number(name.slice(prefix.length).split('-')[0]))) continue;
    const folder = join(tmpdir(), name);
    for (const plane of readdirSync(folder)) await reapStale(join(folder, plane));
    rmSync(folder, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
