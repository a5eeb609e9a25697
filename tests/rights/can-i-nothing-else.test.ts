import { afterAll, beforeAll, expect, test } from 'vitest';
import { agent, type KubernetesRights, startKubernetesRights, users } from './kubernetes-rights.ts';

/** Beside the rights of the committed lists (`can-i.test.ts`), nobody has any. */
let rights: KubernetesRights;
beforeAll(async () => {
  rights = await startKubernetesRights();
});
afterAll(() => rights[Symbol.asyncDispose]());

test.each([...users, agent])(
  '%s is refused everything else, resource by resource and verb by verb',
  async (user) => {
    const { asked, wrong } = await rights.answeredOtherwise(user);
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(1000);
  },
);
