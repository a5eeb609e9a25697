import type { NatsConnection } from '@nats-io/transport-node';

/** No cluster can have this id (ids are [a-z0-9-]), so no agent can send one. */
const loopbackId = '_loopback';
/** Where a heartbeat has its version. */
const loopbackVersion = 0xca;
const sizeBytes = 8;
const withinMs = 1000;

export interface LoopbackCheck {
  /**
   * Whether a heartbeat of our own comes back to us within a second, on each subject that heartbeats are heard on: the same way as those
   * of agents, so that a lost subscription shows. Who does not receive declares nobody dead.
   */
  isReceiving(): Promise<boolean>;
  /** What came on a heartbeat subject and is no heartbeat. @returns whether it was one of these checks, of us or of another replica */
  heard(subject: string, data: Uint8Array): boolean;
}

/** @param subjects - that heartbeats are heard on, with wildcards; the last token is the cluster id */
export function createLoopbackCheck(
  nc: Pick<NatsConnection, 'publish'>,
  subjects: readonly string[],
): LoopbackCheck {
  const waiting = new Map<string, () => void>();
  const loopbacks = subjects.map((subject) => subject.replace(/\*$/, loopbackId).replace('*', 'loopback'));

  async function comesBack(subject: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const body = Buffer.from(crypto.getRandomValues(new Uint8Array(sizeBytes)));
    body[0] = loopbackVersion;
    const name = `${subject} ${body.toString('hex')}`;
    const timer = setTimeout(() => resolve(false), withinMs);
    waiting.set(name, () => resolve(true));
    try {
      nc.publish(subject, body);
      return await promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(name);
    }
  }

  return {
    async isReceiving() {
      return (await Promise.all(loopbacks.map(comesBack))).every(Boolean);
    },
    heard(subject, data) {
      if (data.length !== sizeBytes || data[0] !== loopbackVersion || !subject.endsWith(`.${loopbackId}`))
        return false;
      waiting.get(`${subject} ${Buffer.from(data).toString('hex')}`)?.();
      return true;
    },
  };
}
