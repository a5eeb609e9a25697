import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { expect, test } from 'vitest';
import { addressRefused, createCautiousLookup } from './guarded-lookup.ts';
import { createAddressJudge } from './refused-address.ts';

const judge = createAddressJudge({
  allowLoopback: false,
  hub: [{ host: 'hub.example', port: 6443 }],
  refusedRanges: [],
});
const v4 = (address: string): LookupAddress => ({ address, family: 4 });

/** Names as an attacker's DNS answers them: each question its own way. */
function answering(answers: Readonly<Record<string, readonly LookupAddress[][]>>) {
  const asked = new Map<string, number>();
  return async (name: string): Promise<LookupAddress[]> => {
    const count = asked.get(name) ?? 0;
    asked.set(name, count + 1);
    const all = answers[name] ?? [];
    return all[Math.min(count, all.length - 1)] ?? [];
  };
}

function ask(lookup: LookupFunction, name: string, all = true): Promise<unknown> {
  return new Promise((resolve, reject) => {
    lookup(name, { all }, (error, found) => (error ? reject(error) : resolve(found)));
  });
}

test('a name that meant a member and then means the hub network is refused when it is connected to', async () => {
  const resolve = answering({ 'member.example': [[v4('192.0.2.7')], [v4('169.254.169.254')]] });
  const lookup = createCautiousLookup(judge, { resolve })(6443);
  expect(await ask(lookup, 'member.example')).toEqual([v4('192.0.2.7')]);
  await expect(ask(lookup, 'member.example')).rejects.toMatchObject({ code: addressRefused });
});

test('one bad address among good ones is enough', async () => {
  const resolve = answering({ 'member.example': [[v4('192.0.2.7'), { address: '::1', family: 6 }]] });
  await expect(ask(createCautiousLookup(judge, { resolve })(6443), 'member.example')).rejects.toMatchObject({
    code: addressRefused,
  });
});

test('a name that stands for the hub is refused by its address', async () => {
  const resolve = answering({ 'hub.example': [[v4('192.0.2.1')]], 'alias.example': [[v4('192.0.2.1')]] });
  const lookup = createCautiousLookup(judge, { resolve })(443);
  await expect(ask(lookup, 'alias.example')).rejects.toMatchObject({ code: addressRefused });
});

test('a name without an address is refused, and one address is given where one is wanted', async () => {
  const resolve = answering({ 'member.example': [[v4('192.0.2.7')]] });
  const lookup = createCautiousLookup(judge, { resolve })(6443);
  await expect(ask(lookup, 'nobody.example')).rejects.toMatchObject({ code: addressRefused });
  expect(await ask(lookup, 'member.example', false)).toBe('192.0.2.7');
});
