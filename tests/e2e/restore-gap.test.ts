import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { connectBus, refillStream } from '@rollcall/shared/bus';
import { digestOf } from '@rollcall/shared/events';
import { expect, test } from 'vitest';
import type { StreamLine } from '../../cli/backup/backup-format.ts';
import type { CheckedBackup } from '../../cli/backup/read-backup.ts';
import { checkRoomOnServers, fillStreams } from '../../cli/backup/refill-streams.ts';
import { withoutGaps } from '../../cli/backup/stream-messages.ts';
import { temporaryUser } from '../../cli/backup/temporary-user.ts';
import { hubKeys } from '../../cli/install/hub/hub-keys.ts';
import { hubValuesSchema } from '../../cli/install/hub/hub-values.ts';
import { openHubFiles } from '../../cli/trust/hub-files.ts';
import { loopbackPorts } from '../../cli/up/loopback-ports.ts';
import { startNatsServer } from '../../cli/up/nats/nats-server.ts';

function lineOf(sequence: number): StreamLine {
  const subject = `rollcall.events.hub.x${sequence}.happened`;
  const digest = digestOf(subject, `i${sequence}`, new TextEncoder().encode('{}'));
  const headers = { 'ce-id': `i${sequence}` };
  return { stream: 'EVENTS', sequence, subject, timeMs: 1, headers, text: '{}', digest };
}

/** Two were archived, or lost. */
const lines = [1, 2, 5, 6].map(lineOf);
async function* messages(stream: string) {
  if (stream === 'EVENTS') yield* lines;
}
const header = { takenAtMs: Date.now(), throughSequence: 6, epoch: 1, handled: {} };
const backup = { header, messages } as unknown as CheckedBackup;

test.each([1, 2, 3, 4, 5, 6])(
  'a history with a gap is filled in by the next run where one was killed after %d messages, and another one is not',
  async (through) => {
    const stateDir = mkdtempSync(join(tmpdir(), 'rollcall-gap-'));
    const { nats: values } = hubValuesSchema.parse({});
    hubKeys(stateDir, { hosts: ['127.0.0.1'], nats: values, withWebSocket: false });
    const hub = { ...openHubFiles(stateDir).read('hub'), epoch: 2 };
    const { nats: port } = await loopbackPorts(join(stateDir, 'ports.json'), ['nats']);
    const nats = await startNatsServer(hub, { stateDir, port, advertised: [], nowMs: Date.now() });
    const to = { address: nats.address, directory: stateDir, hub };
    const write = async (count: number) => {
      const nc = await connectBus(nats.address, temporaryUser(stateDir, hub, 'restore'), 'restore');
      const all = await Array.fromAsync(
        withoutGaps(messages('EVENTS'), { sequences: [], isArchived: false }),
      );
      await refillStream(nc, Readable.from(all.slice(0, count)), { sameSequences: true });
      await nc.close();
    };
    try {
      await write(through);
      await checkRoomOnServers(backup, to);
      await fillStreams(backup, to);
      await expect(checkRoomOnServers(backup, to)).rejects.toMatchObject({ code: 'STATE_NOT_EMPTY' });
    } finally {
      await nats.server.stop();
      rmSync(stateDir, { recursive: true, force: true });
    }
  },
);
