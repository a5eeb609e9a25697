import type { AgentRole, AgentSigners } from '@rollcall/shared/rights';
import { createNkey, nkeyFromSeed } from '@rollcall/shared/trust';
import { accountControllerKeys } from '../up/state/account-controller-keys.ts';
import type { HubFiles } from './hub-files.ts';
import { untilTold } from './wait-until-told.ts';

/** Claims are only read back up to here; what was dropped before that is in no server any more. */
const rememberedGenerations = 4;

const mapRoles = <From, To>(of: Readonly<Record<AgentRole, From>>, how: (from: From) => To) =>
  Object.fromEntries(Object.entries(of).map(([role, from]) => [role, how(from)])) as Record<AgentRole, To>;
const publicOf = (seeds: Readonly<Record<AgentRole, string>>): AgentSigners =>
  mapRoles(seeds, (seed) => nkeyFromSeed(seed).publicKey);

/** The account-controller reads the keys that are good from its own file, and nowhere else. */
function tellAccountController(files: HubFiles): void {
  const { keys } = files.read('hub');
  files.change('account-controller', (identity) => ({ ...identity, ...accountControllerKeys(keys) }));
}

function isGood(files: HubFiles, signers: AgentSigners): Promise<void> {
  const { member } = signers;
  return untilTold(files, 'the next signing keys are good', ({ agentSigners }) =>
    agentSigners.some(({ keys }) => keys['member'] === member),
  );
}

export async function announceSigningKeys(files: HubFiles, nowMs: number): Promise<void> {
  const { agentSigners } = files.read('registrar');
  const seeds = mapRoles(agentSigners, () => createNkey('account').seed);
  files.change('offline', (offline) => ({ ...offline, nextAgentSigners: seeds }));
  files.change('hub', (hub) => ({
    ...hub,
    keys: { ...hub.keys, moreAgentSigners: [publicOf(seeds)] },
    rotations: { ...hub.rotations, 'signing-keys': { stage: 'announced', atMs: nowMs } },
  }));
  tellAccountController(files);
  await isGood(files, publicOf(seeds));
}

/** Only keys that every server acts on are given to the registrar. */
export async function switchSigningKeys(files: HubFiles, nowMs: number): Promise<void> {
  const { nextAgentSigners: seeds } = files.read('offline');
  if (seeds === undefined) {
    await announceSigningKeys(files, nowMs);
    return switchSigningKeys(files, nowMs);
  }
  // Again, because a run before may have been stopped in between.
  tellAccountController(files);
  await isGood(files, publicOf(seeds));
  files.change('registrar', (identity) => ({ ...identity, agentSigners: seeds }));
  files.change('hub', (hub) => ({
    ...hub,
    keys: { ...hub.keys, agentSigners: publicOf(seeds), moreAgentSigners: [hub.keys.agentSigners] },
    rotations: {
      ...hub.rotations,
      'signing-keys': { ...hub.rotations?.['signing-keys'], stage: 'switched', atMs: nowMs },
    },
  }));
  tellAccountController(files);
  files.change('offline', ({ nextAgentSigners: _given, ...offline }) => offline);
}

export async function dropSigningKeys(files: HubFiles): Promise<void> {
  const { moreAgentSigners: former = [], ...good } = files.read('hub').keys;
  files.change('account-controller', (identity) => {
    const { formerAgentSigners: known = [] } = identity;
    const others = former.filter((one) => known.every(({ member }) => member !== one.member));
    return {
      ...identity,
      ...accountControllerKeys(good),
      formerAgentSigners: [...others, ...known].slice(0, rememberedGenerations),
    };
  });
  await untilTold(files, 'the former signing keys are dropped', ({ agentSigners }) =>
    agentSigners.every(({ keys }) => keys['member'] === good.agentSigners.member),
  );
  // Last: whoever was stopped before finishes it by the same command, and until then status shows what may still be good.
  files.change('hub', ({ rotations, ...hub }) => {
    const { 'signing-keys': _done, ...rest } = rotations ?? {};
    return { ...hub, keys: good, rotations: rest };
  });
}
