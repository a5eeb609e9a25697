import type { NatsConnection } from '@nats-io/transport-node';

/** No cluster can have this id (ids are [a-z0-9-]), so no agent can send one. */
const canaryId = '_canary';
/** Where a beat has its version. */
const canaryVersion = 0xca;
const sizeBytes = 8;
const withinMs = 1000;

export interface Canary {
  /**
   * Whether a beat of our own comes back to us within a second, on each subject that beats are heard on: the same way as those
   * of agents, so that a lost subscription shows. Who is deaf declares nobody dead.
   */
  earsWork(): Promise<boolean>;
  /** What came on a beat subject and is no beat. @returns whether it was a canary, of us or of a sibling */
  heard(subject: string, data: Uint8Array): boolean;
}

/** @param subjects - that beats are heard on, with wildcards; the last token is the cluster id */
export function createCanary(nc: Pick<NatsConnection, 'publish'>, subjects: readonly string[]): Canary {
  const waiting = new Map<string, () => void>();
  const canaries = subjects.map((subject) => subject.replace(/\*$/, canaryId).replace('*', 'canary'));

  async function comesBack(subject: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const body = Buffer.from(crypto.getRandomValues(new Uint8Array(sizeBytes)));
    body[0] = canaryVersion;
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
    async earsWork() {
      return (await Promise.all(canaries.map(comesBack))).every(Boolean);
    },
    heard(subject, data) {
      if (data.length !== sizeBytes || data[0] !== canaryVersion || !subject.endsWith(`.${canaryId}`))
        return false;
      waiting.get(`${subject} ${Buffer.from(data).toString('hex')}`)?.();
      return true;
    },
  };
}
