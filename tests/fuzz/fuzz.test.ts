import { RollcallError } from '@rollcall/shared/errors';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { decoders } from './decoders.ts';
import { bytesOf, type FuzzedDecoder, jsonBytes, must, textOf } from './fuzzed-decoder.ts';
import { regressions } from './regressions.ts';
import { runDecoder, tryInput } from './run-decoder.ts';

afterAll(async () => {
  for (const decoder of decoders) await decoder.close?.();
});

const seed = 6;
/** `npm run fuzz` gives each 100,000, and looks at time and memory too. */
const inputs = 400;

test.each(decoders)('decoder $name: nothing that it is given does harm', async (decoder) => {
  const { findings, taken, refused } = await runDecoder(decoder, { inputs, seed, isMeasured: false });
  expect(findings).toEqual([]);
  expect(taken + refused).toBe(inputs);
  // One that takes nothing, or everything, would show nothing.
  expect(taken).toBeGreaterThan(0);
});

test.each(regressions)('$decoder: no more that $what', async ({ decoder: name, input }) => {
  const decoder = decoders.find((one) => one.name === name);
  expect(decoder && (await tryInput(decoder, input))).toMatch(/taken|refused/);
});

test('the files of people are read without a word on stderr, because the parser would quote them', async () => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  try {
    for (const decoder of decoders.filter(({ name }) =>
      ['kubeconfig', 'config', 'policy-file'].includes(name),
    ))
      await tryInput(decoder, bytesOf('!!js/function secret: *a: {[a]: b}\n'));
    await tryInput(
      decoders.find(({ name }) => name === 'kubeconfig') as FuzzedDecoder,
      bytesOf('? {a: b}\n: !!x c\n'),
    );
    expect(emitted).not.toHaveBeenCalled();
  } finally {
    emitted.mockRestore();
  }
});

describe('the fuzzer itself', () => {
  const aDecoder = (decode: FuzzedDecoder['decode']): FuzzedDecoder => ({
    name: 'planted',
    form: 'json',
    samples: [jsonBytes({ id: 'a', labels: { b: 'c' }, count: 3 })],
    decode,
  });
  const run = (decoder: FuzzedDecoder, isMeasured = false) =>
    runDecoder(decoder, { inputs: 2000, seed, isMeasured, maxFindings: 1 });
  const parsed = (input: Uint8Array): { id?: { length: number }; labels?: object } => {
    try {
      return JSON.parse(textOf(input)) as object;
    } catch {
      throw new RollcallError('REQUEST_INVALID', 'no JSON');
    }
  };

  test('finds a field that is taken for granted, and prints an input that shows it', async () => {
    const careless = aDecoder((input) =>
      (parsed(input) as { id: { length: number } }).id.length > 0 ? 'taken' : 'refused',
    );
    const { findings } = await run(careless);
    expect(findings).toMatchObject([{ what: expect.stringContaining('TypeError') }]);
    const again = await tryInput(careless, Buffer.from(findings[0]?.input ?? '', 'base64'));
    expect(again).toMatchObject({ wrong: expect.stringContaining('TypeError') });
  });

  test('finds what is taken and must not be', async () => {
    const credulous = aDecoder((input) => {
      must(!Object.hasOwn(parsed(input) ?? {}, '__proto__'), 'nothing is called __proto__');
      return 'taken';
    });
    expect((await run(credulous)).findings).toMatchObject([{ what: 'nothing is called __proto__' }]);
  });

  test('finds a prototype that was changed', async () => {
    const polluted = aDecoder((input) => {
      if (parsed(input) !== null) Object.assign(Object.prototype, { polluted: true });
      return 'taken';
    });
    try {
      expect((await run(polluted)).findings).toMatchObject([{ what: expect.stringContaining('prototype') }]);
    } finally {
      delete (Object.prototype as { polluted?: boolean }).polluted;
    }
  });

  test('finds what is kept', async () => {
    const kept: Uint8Array[][] = [];
    const hoarder = aDecoder((input) => {
      kept.push(Array.from({ length: 1000 }, () => input));
      return 'taken';
    });
    expect((await run(hoarder, true)).findings).toMatchObject([
      { what: expect.stringContaining('of the heap') },
    ]);
  });

  test('the same seed gives the same inputs', async () => {
    const seen: string[][] = [[], []];
    for (const list of seen)
      await run(
        aDecoder((input) => (list.push(Buffer.from(input).toString('base64')) > 0 ? 'taken' : 'refused')),
      );
    expect(seen[0]).toEqual(seen[1]);
    expect(new Set(seen[0]).size).toBeGreaterThan(1000);
  });
});
