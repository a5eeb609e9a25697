import { closeSync, existsSync, fstatSync, openSync, readSync, statfsSync } from 'node:fs';

/** A NATS server, where it writes and what it says. */
export interface WritingServer {
  readonly name: string;
  readonly directory: string;
  /** Another file at each start. */
  readonly logPath: string;
  /** Resolves when it lets somebody in again. */
  restart(): Promise<void>;
}

export interface KeepWriting {
  /** Resolves when no restart is under way. */
  stop(): Promise<void>;
}

/** What nats-server 2.15 says when a write failed and it gives the stream up, or, one of several, all of its JetStream. */
const gaveUp = /critical write error|JetStream out of .*resources, will be DISABLED/i;
const lookEveryMs = 2000;
/** Less room than this is full again at once. */
const roomBytes = 32 * 1024 * 1024;
/** A disk that fails for another reason than room is not helped by more starts. */
const restartAtMostEveryMs = 30_000;
const chunkBytes = 64 * 1024;

/** @returns whether the server that writes this log has given a stream up; each look reads what is new */
function followLog(path: string): () => boolean {
  let [inode, offset, hasGivenUp] = [0, 0, false];
  return () => {
    if (!existsSync(path)) return false;
    const file = openSync(path, 'r');
    try {
      const { ino } = fstatSync(file);
      // A server that was started again writes again.
      if (ino !== inode) [inode, offset, hasGivenUp] = [ino, 0, false];
      const buffer = Buffer.alloc(chunkBytes);
      for (let read = 1; read > 0; offset += read) {
        read = readSync(file, buffer, 0, chunkBytes, offset);
        hasGivenUp ||= gaveUp.test(buffer.toString('latin1', 0, read));
      }
      return hasGivenUp;
    } finally {
      closeSync(file);
    }
  };
}

function hasRoom(directory: string): boolean {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize >= roomBytes;
}

/**
 * Has servers write again. A NATS server gives a stream up at the first write that the disk refuses, and takes it up only at a
 * start (measured, 2.15.2: with room again, every append still times out). So once there is room it is started again, one server
 * after the other.
 */
export function keepWriting(servers: readonly WritingServer[], say: (message: string) => void): KeepWriting {
  const watched = servers.map((server) => ({
    server,
    hasGivenUp: followLog(server.logPath),
    needsStart: false,
    mayRestartAtMs: 0,
  }));
  async function look(): Promise<void> {
    for (const one of watched) {
      const { server } = one;
      // Also one whose start failed, and whose log therefore says nothing of it.
      one.needsStart ||= one.hasGivenUp();
      if (!one.needsStart || performance.now() < one.mayRestartAtMs || !hasRoom(server.directory)) continue;
      say(`${server.name} gave up writing, and there is room on its disk: starting it again`);
      one.mayRestartAtMs = performance.now() + restartAtMostEveryMs;
      await server.restart();
      one.needsStart = false;
    }
  }
  let [isStopped, looking] = [false, Promise.resolve()];
  let timer: NodeJS.Timeout;
  function lookLater(): void {
    timer = setTimeout(() => {
      looking = look()
        .catch((error: unknown) => say(`a NATS server could not be started again: ${String(error)}`))
        .finally(() => isStopped || lookLater());
    }, lookEveryMs);
  }
  lookLater();
  return {
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
