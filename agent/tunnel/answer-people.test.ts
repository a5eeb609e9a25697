import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { answerPeople } from './answer-people.ts';

test('a member whose credentials cannot be read has people wait, and ends no agent', async () => {
  const unheard: unknown[] = [];
  const note = (reason: unknown) => void unheard.push(reason);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const logged: string[] = [];
  const people = answerPeople(
    {
      clusterId: 'c',
      logger: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
      dial: async () => undefined,
      ownLink: () => undefined,
      askHub: () => undefined,
    },
    {
      access: { as: 'people', users: ['alice'], groups: {} },
      member: {
        server: 'https://127.0.0.1:1',
        certPem: 'none',
        keyPem: 'none',
        namespace: 'default',
        clusterName: 'c',
        contextName: 'c',
        userName: 'c',
      },
      version: '0',
    },
  );
  let ask: (message: Uint8Array, subject: string) => void = () => undefined;
  const link = { subscribe: (_subject: string, hear: typeof ask) => void (ask = hear) };
  people.listen(link, { isFirst: true });
  for (let count = 0; count < 2; count++) {
    ask(Buffer.from('{}'), '');
    await expect.poll(() => logged.length, { timeout: 5000 }).toBe(count + 1);
  }
  people.listen(link, { isFirst: true });
  people.hubSaid({ isShut: true, atHubMs: 1 });
  await setTimeout(10);
  await people.stop();
  expect(unheard).toEqual([]);
});
