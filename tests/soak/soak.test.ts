import { expect, test } from 'vitest';
import { measureSoak } from '../../bench/soak/measure-soak.ts';

/** About two minutes with its beginning and its end; an hour of it with `npm run soak`. */
test.skipIf(process.platform !== 'linux')(
  'a fleet lives on a hub of three NATS servers each of which is killed once, and each service: all is well, and flat',
  async () => {
    const told: string[] = [];
    const { record, judgements } = await measureSoak(
      { clusters: 150, real: 60, lastsMs: 45_000, servers: 3, isFromSource: true },
      (message) => told.push(message),
    );
    const broken = judgements.filter(({ isGood }) => !isGood);
    if (broken.length > 0) console.info(told.join('\n'));
    expect(broken).toEqual([]);
    expect(record.strikes).toHaveLength(9);
  },
  900_000,
);
