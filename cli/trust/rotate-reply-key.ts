import { RollcallError } from '@rollcall/shared/errors';
import { linkReplyKeys, maxReplyLinks } from '@rollcall/shared/protocol';
import { createNkey, nkeyFromSeed } from '@rollcall/shared/trust';
import { readCaKey } from '../up/state/server-certificate.ts';
import type { HubFiles } from './hub-files.ts';

const keyOf = ({ replyKeySeed }: { readonly replyKeySeed: string }) => nkeyFromSeed(replyKeySeed).publicKey;

/**
 * From here on nobody has the former key any more; the link that it and the CA's key signed is all that is left of it. Whoever was
 * stopped in between finishes that.
 * @throws RollcallError ROTATION_NOT_DUE where agents could not follow
 */
export function rotateReplyKey(files: HubFiles, nowMs: number): void {
  if (keyOf(files.read('registrar')) === files.read('hub').replyKey) giveNextKey(files, nowMs);
  const replyKey = keyOf(files.read('registrar'));
  files.change('account-controller', (identity) => ({
    ...identity,
    knownBy: { ...identity.knownBy, replyKey },
  }));
  // Last: by it is seen whether the others are done.
  files.change('hub', (hub) => ({ ...hub, replyKey }));
}

function giveNextKey(files: HubFiles, nowMs: number): void {
  const links = files.read('registrar').replyChain?.length ?? 0;
  if (links >= maxReplyLinks) {
    const message = `the reply key of this hub was replaced ${links} times, and agents follow no more links than that; a new one would lock out all of them`;
    throw new RollcallError('ROTATION_NOT_DUE', message);
  }
  const next = createNkey('account');
  const { hubId } = files.read('hub');
  files.change('registrar', (identity) => {
    const replyKey = nkeyFromSeed(identity.replyKeySeed);
    const link = linkReplyKeys(
      { hub: hubId, replyKey, nextReplyKey: next.publicKey, atMs: nowMs },
      readCaKey(files.stateDir),
    );
    return { ...identity, replyKeySeed: next.seed, replyChain: [...(identity.replyChain ?? []), link] };
  });
}
