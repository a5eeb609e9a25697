import type { NatsConnection } from '@nats-io/transport-node';
import { readStream, streamState } from '@rollcall/shared/bus';
import { createChainCheck, type EpochRecord } from '@rollcall/shared/events';
import { type Finding, finding } from './finding.ts';

/** What an object says that it was made from (decision 1). */
export interface Witness {
  readonly object: string;
  readonly epoch: number;
  readonly sequence: number;
  readonly digest: string | undefined;
}

/** Whether the event that a witness names was left behind when the hub was restored: no loss that nobody knows of. */
function isOfFormerLife(
  { epoch, sequence }: Witness,
  hub: { epoch: number; restored: EpochRecord['restored'] },
) {
  return epoch < hub.epoch && hub.restored !== undefined && sequence > hub.restored.throughSequence;
}

/**
 * Reads the whole history: nothing missing, each event after the one it names, and every witness true.
 * @param witnesses - read before: whatever they name must be in the stream by now
 */
export async function checkHistory(
  nc: NatsConnection,
  witnesses: readonly Witness[],
  hub: { epoch: number; restored: EpochRecord['restored'] },
): Promise<{ events: number; lastSequence: number; findings: Finding[] }> {
  const { lastSequence } = await streamState(nc, 'EVENTS');
  const findings: Finding[] = [];
  const bySequence = Map.groupBy(
    witnesses.filter((witness) => !isOfFormerLife(witness, hub)),
    ({ sequence }) => sequence,
  );
  const check = createChainCheck();
  let events = 0;
  for await (const message of readStream(nc, 'EVENTS', lastSequence)) {
    events++;
    const { sequence, subject } = message;
    const { digest, problems } = check({ ...message, eventId: message.headers['ce-id'] ?? '' });
    for (const { kind, message: why } of problems)
      findings.push(
        finding(kind === 'missing' ? 'EventsMissing' : 'ChainBroken', `event ${sequence} (${subject})`, why),
      );
    for (const witness of bySequence.get(sequence) ?? []) {
      if (witness.digest !== undefined && witness.digest !== digest)
        findings.push(
          finding(
            'EventDiffers',
            witness.object,
            `it was made from event ${sequence} ${witness.digest}, and the stream has ${digest} there`,
          ),
        );
    }
    bySequence.delete(sequence);
  }
  for (const witness of [...bySequence.values()].flat()) {
    const says = `it was made from event ${witness.sequence} of epoch ${witness.epoch}, and the stream ends at ${lastSequence}`;
    findings.push(finding('TailLost', witness.object, says));
  }
  return { events, lastSequence, findings };
}
