import type { Logger } from '@rollcall/shared/service';
import type { RegistrationToken } from '@rollcall/shared/trust/keys';
import type { HubLink } from './hub-connection.ts';
import type { KeyRing } from '../keys/own-keys.ts';
import type { OnPhase, PhaseDetail, PhaseName } from '../protocol/phase.ts';
import { type Refusal, refusalDetail } from '../protocol/refusal-for-people.ts';
import {
  type Registration,
  type RegistrationEffect,
  type RegistrationInput,
  startRegistration,
  step,
} from './registration.ts';
import type { StateStore } from '../keys/state-store.ts';

export interface SessionOptions {
  readonly clusterId: string;
  readonly keys: KeyRing;
  readonly stateStore: StateStore;
  readonly token: RegistrationToken | undefined;
  /** Digest of how the agent was told to know its hub. */
  readonly trustDigest: string;
  readonly refusedRetryMs: number;
  /** A person in the member wants it to leave; else it does when the hub says so. */
  readonly isLeaveWanted: boolean;
  readonly onPhase: OnPhase;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** What the parts of a membership share: the connection that counts, and what the hub last said. */
export interface Session extends Omit<SessionOptions, 'token'> {
  link: HubLink | undefined;
  readonly registration: Registration;
  /** Forgotten once the hub has let the agent in. */
  token: RegistrationToken | undefined;
  /** The connection, where it is that of a member with the key of now. */
  memberLink(): HubLink | undefined;
  /** Takes the registration one step on; what is to be done about it is done by the one who said so in `onEffect`. */
  dispatch(input: RegistrationInput): void;
  onEffect(carryOut: (effect: RegistrationEffect) => void): void;
  tell(phase: PhaseName, message: string, detail?: PhaseDetail): void;
  tellRefusal(phase: PhaseName, refusal: Refusal, retryInMs: number): void;
}

export function createSession(options: SessionOptions): Session {
  const { keys, stateStore, refusedRetryMs, isLeaveWanted, onPhase } = options;
  const renewAtMs = stateStore.state.member?.renewAtMs;
  let registration = startRegistration({ nowMs: Date.now(), renewAtMs, isLeaveWanted });
  const listeners: ((effect: RegistrationEffect) => void)[] = [];
  const session: Session = {
    ...options,
    link: undefined,
    get registration() {
      return registration;
    },
    memberLink() {
      const { link } = session;
      const isThere = link?.role === 'member' && !link.isClosed();
      return isThere && link.key.publicKey === keys.current().publicKey ? link : undefined;
    },
    dispatch(input) {
      const { returnWithinMs } = stateStore.state.member ?? {};
      const context = { nowMs: Date.now(), random: Math.random(), refusedRetryMs, returnWithinMs };
      const { state, effects } = step(registration, input, context);
      registration = state;
      for (const effect of effects) for (const carryOut of listeners) carryOut(effect);
    },
    onEffect: (carryOut) => void listeners.push(carryOut),
    tell: (phase, message, detail = {}) => onPhase({ phase, message, detail }),
    tellRefusal: (phase, refusal, retryInMs) =>
      session.tell(phase, refusal.message, refusalDetail(refusal, retryInMs)),
  };
  return session;
}
