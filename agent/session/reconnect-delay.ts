import { type BackOff, refusedDelayMs } from '../hub/back-off.ts';
import { isAlive } from '../protocol/credential-choice.ts';
import { lapsedDelayMs, reconnectWaitMs } from './return-time.ts';
import type { Session } from './session.ts';

/** How long the agent leaves its hub alone, by what it last heard of it. Failures and refusals are counted in a row, from 1 on. */
export interface ReconnectDelay {
  afterFailureMs(failures: number): number;
  /** @param isAlone - the server has said that it ends this connection */
  afterLossMs(failures: number, isAlone: boolean): number;
  afterRefusalMs(refusals: number): number;
}

export function createReconnectDelay(
  { stateStore, refusedRetryMs }: Session,
  reconnect: BackOff,
): ReconnectDelay {
  function memberState() {
    const { member } = stateStore.state;
    return {
      heartbeatIntervalMs: member?.heartbeatIntervalMs ?? 0,
      returnWithinMs: member?.returnWithinMs,
      isLapsed: member !== undefined && !isAlive(member.jwt, Date.now()),
    };
  }

  const afterLossMs = (failures: number, isAlone: boolean) =>
    reconnectWaitMs(reconnect, { ...memberState(), failures, isAlone, random: Math.random() });

  return {
    afterFailureMs: (failures) => afterLossMs(failures, false),
    afterLossMs,
    afterRefusalMs(refusals) {
      const { isLapsed, returnWithinMs } = memberState();
      const longestMs = isLapsed ? lapsedDelayMs(refusedRetryMs, returnWithinMs) : refusedRetryMs;
      return refusedDelayMs(longestMs, refusals, Math.random());
    },
  };
}
