import { setTimeout as delay } from 'node:timers/promises';
import type { HubAccess } from '../access/hub-access.ts';
import { remove, type Uninstall } from '../install/uninstall-steps.ts';
import { isIssuedLater } from '../protocol/credential-choice.ts';
import { answeredRefusal } from '../protocol/refusal-for-people.ts';
import type { CredentialAdoption } from './credential-adoption.ts';
import type { RegistrationEffect } from './registration.ts';
import type { Requester } from './requester.ts';
import type { Session } from './session.ts';

export interface RunRegistrationOptions {
  readonly requester: Pick<Requester, 'whenDue'>;
  readonly adoption: Pick<CredentialAdoption, 'admit'>;
  readonly hubAccess: Pick<HubAccess, 'learn' | 'stop'> | undefined;
  /** Undefined where nothing of the agent is to be removed. */
  readonly uninstall: Uninstall | undefined;
}

/** A hub that takes the goodbye answers at once; one that is away must not keep what is to be removed. */
const goodbyeMs = 15_000;

const droppedLabelsText = (keys: readonly string[]) =>
  `the hub does not take ${keys.length === 1 ? 'the label' : 'the labels'} ${keys.join(', ')}: not allowed by the token (\`rollcall token create --allow-labels PATTERN\`), reserved, or no label`;

/** Carries out what `registration.ts` decides; what becomes of it goes back there as an input. */
export function runRegistration(session: Session, options: RunRegistrationOptions): void {
  const { clusterId, stateStore, keys, logger, signal } = session;
  const { requester, adoption, hubAccess, uninstall } = options;

  function adopt({ admission, atMs, agentKey }: RegistrationEffect & { kind: 'adopt' }): void {
    const key = [keys.current(), keys.next()].find((one) => one?.publicKey === agentKey);
    if (key) adoption.admit(admission, atMs, key);
  }

  function keepWaitingCredentials(jwt: string): void {
    if (!isIssuedLater(jwt, stateStore.state.waitingJwt)) return;
    stateStore.update((old) => ({ ...old, member: undefined, waitingJwt: jwt }));
  }

  async function removeInstalled(message: string): Promise<void> {
    session.tell('leave', message, { clusterId });
    if (uninstall) await remove(uninstall, 'beforeGoodbye', { logger, signal });
    session.dispatch({ kind: 'removed' });
  }

  async function awaitGoodbye(): Promise<void> {
    await delay(goodbyeMs, undefined, { ref: false });
    session.dispatch({ kind: 'goodbye-over' });
  }

  session.onEffect((effect) => {
    switch (effect.kind) {
      case 'schedule':
        return requester.whenDue();
      case 'adopt':
        return adopt(effect);
      case 'learn-access':
        return hubAccess?.learn(effect.reply, { isToLast: effect.isToLast });
      case 'stop-access':
        return void hubAccess?.stop();
      case 'keep-waiting-credentials':
        return keepWaitingCredentials(effect.jwt);
      case 'show-dropped-labels':
        return session.tell('register', droppedLabelsText(effect.labels), { clusterId });
      case 'show-waiting': {
        const { message, reason } = effect.result;
        return session.tell('waiting', message, { reason, clusterId });
      }
      case 'show-refused':
        return session.tellRefusal('refused', answeredRefusal(effect.result), effect.retryInMs);
      case 'close-connection':
      case 'end':
        return void session.link?.close();
      case 'warn-leave-announced':
        return logger.warn(
          { clusterId },
          'the hub says that this cluster leaves; nothing is removed while its server still lets the agent in',
        );
      case 'remove-installed':
        return void removeInstalled(effect.message);
      case 'await-goodbye':
        return void awaitGoodbye();
    }
  });
}
