import type { Logger } from '@rollcall/shared/service';
import type { RegistrationToken } from '@rollcall/shared/trust/keys';
import type { HubLink } from './hub-connection.ts';
import { type Joining, type JoiningInput, nextJoining, startJoining } from './joining.ts';
import type { KeyRing } from '../keys/own-keys.ts';
import type { OnPhase, PhaseDetail, PhaseName } from '../protocol/phase.ts';
import { type Refusal, refusalDetail } from '../protocol/refusal.ts';
import type { StateStore } from '../keys/state-store.ts';

export interface SessionOptions {
  readonly clusterId: string;
  readonly keys: KeyRing;
  readonly stateStore: StateStore;
  readonly token: RegistrationToken | undefined;
  /** Digest of how the agent was told to know its hub. */
  readonly trustDigest: string;
  readonly refusedRetryMs: number;
  readonly onPhase: OnPhase;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** What the parts of a membership share: the connection that counts, and what the hub last said. */
export interface Session extends Omit<SessionOptions, 'token'> {
  link: HubLink | undefined;
  joining: Joining;
  /** Forgotten once the hub has let the agent in. */
  token: RegistrationToken | undefined;
  /** The connection, where it is that of a member with the key of now. */
  memberLink(): HubLink | undefined;
  step(input: JoiningInput): void;
  tell(phase: PhaseName, message: string, detail?: PhaseDetail): void;
  tellRefusal(phase: PhaseName, refusal: Refusal, retryInMs: number): void;
}

export function createSession(options: SessionOptions): Session {
  const { keys, stateStore, refusedRetryMs, onPhase } = options;
  const session: Session = {
    ...options,
    link: undefined,
    joining: startJoining({ nowMs: Date.now(), renewAtMs: stateStore.state.member?.renewAtMs }),
    memberLink() {
      const { link } = session;
      const isThere = link?.role === 'member' && !link.isClosed();
      return isThere && link.key.publicKey === keys.current().publicKey ? link : undefined;
    },
    step(input) {
      const { returnWithinMs } = stateStore.state.member ?? {};
      const context = { nowMs: Date.now(), random: Math.random(), refusedRetryMs, returnWithinMs };
      session.joining = nextJoining(session.joining, input, context);
    },
    tell: (phase, message, detail = {}) => onPhase({ phase, message, detail }),
    tellRefusal: (phase, refusal, retryInMs) =>
      session.tell(phase, refusal.message, refusalDetail(refusal, retryInMs)),
  };
  return session;
}
