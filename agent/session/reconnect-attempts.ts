import { type BackOff, refusedDelayMs } from '../hub/back-off.ts';
import { isAlive } from '../protocol/credential-choice.ts';
import { lapsedDelayMs, reconnectWaitMs } from './reconnect-delay.ts';
import type { Session } from './session.ts';

/** How long the agent leaves its hub alone, by what it last heard of it. Failures and refusals are counted in a row, from 1 on. */
export interface ReconnectAttempts {
  /** @param nobodyListens - at any address of the hub */
  afterFailureMs(failures: number, nobodyListens: boolean): number;
  /** @param isAlone - the server has said that it ends this connection */
  afterLossMs(failures: number, isAlone: boolean): number;
  afterRefusalMs(refusals: number): number;
}

export function createReconnectAttempts(
  { stateStore, refusedRetryMs }: Session,
  reconnect: BackOff,
): ReconnectAttempts {
  function memberState() {
    const { member } = stateStore.state;
    return {
      heartbeatIntervalMs: member?.heartbeatIntervalMs ?? 0,
      returnWithinMs: member?.returnWithinMs,
      isLapsed: member !== undefined && !isAlive(member.jwt, Date.now()),
    };
  }

  let unanswered = 0;
  function waitMs(failures: number, isAlone: boolean): number {
    return reconnectWaitMs(reconnect, {
      ...memberState(),
      failures,
      unanswered,
      isAlone,
      random: Math.random(),
    });
  }

  return {
    afterFailureMs(failures, nobodyListens) {
      // How large the fleet is only a member has been told.
      if (nobodyListens && stateStore.state.member) unanswered++;
      return waitMs(failures, false);
    },
    afterLossMs(failures, isAlone) {
      if (failures === 1) unanswered = 0;
      return waitMs(failures, isAlone);
    },
    afterRefusalMs(refusals) {
      const { isLapsed, returnWithinMs } = memberState();
      const longestMs = isLapsed ? lapsedDelayMs(refusedRetryMs, returnWithinMs) : refusedRetryMs;
      return refusedDelayMs(longestMs, refusals, Math.random());
    },
  };
}
