import { createHash } from 'node:crypto';
import { RollcallError } from '@rollcall/shared/errors';

/** The two keys of an agent. */
export interface Seeds {
  /** Seed of the NKey that is the agent's identity on the bus. */
  readonly seed: string;
  /** Seed of the X25519 key to which the hub seals secrets. */
  readonly sealingSeed: string;
}

/** Everything an agent keeps: its keys, whom it trusts, and its credentials. All of it is secret; the token is not in it. */
export interface AgentState extends Seeds {
  readonly version: 1;
  readonly clusterId: string;
  readonly hubId: string;
  /** The CA that was found by its pin, so that later connections need no probe. */
  readonly hubCaPem?: string;
  /** Digest of the trust that was given when it was found or told: where a person gives another one since, that counts. */
  readonly hubCaOf?: string;
  /** The CA before has told of it, then: the one that it replaced is not believed any more, which may have leaked. */
  readonly hubCaToldAtMs?: number | undefined;
  /** Where the hub says that it is to be reached; absent: where it was when the agent was started. */
  readonly hubAddresses?: readonly string[];
  /** At which of those it was found since. */
  readonly hubAddressesReached?: readonly string[];
  /** The key that signs the hub's answers, pinned at the first one. */
  readonly replyKey?: string;
  /** A user JWT to wait with, until the answer comes. */
  readonly waitingJwt?: string | undefined;
  readonly member?: MemberState | undefined;
  /** A rotation is under way: kept before the hub hears of it, until the hub has let it in (ADR 10). */
  readonly next?: (Seeds & { readonly rotationRequest?: string | undefined }) | undefined;
  /** The request of a person beside the agent that was last carried out: each counts once. */
  readonly rotatedBy?: string | undefined;
}

export interface MemberState {
  readonly jwt: string;
  /** The last one by which a connection has come about: the newest may be of a thief, and says nothing of whether we are still in. */
  readonly workedJwt?: string | undefined;
  /** On the agent's clock. */
  readonly renewAtMs: number;
  readonly heartbeatIntervalMs: number;
  /** Over how long the agents of its hub spread their return after an outage; absent: each as it likes. */
  readonly returnWithinMs?: number | undefined;
  readonly clusterName: string;
  readonly namespace: string;
}

/** Where an agent's state is kept between its runs. One agent a store. */
export interface KeyStore {
  /** For messages: a path, or namespace and name of a Secret. */
  readonly place: string;
  /**
   * @returns undefined for an agent that never ran
   * @throws RollcallError AGENT_STATE_INVALID for a state that is torn or not ours
   */
  load(): Promise<AgentState | undefined>;
  /** Kept when it returns; a crash in between leaves the old state or the new one. */
  save(state: AgentState): Promise<void>;
}

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');

/** The text that both kinds of store keep: a line of digest, so that a torn copy is noticed, and the state. */
export function encodeAgentState(state: AgentState): string {
  const text = JSON.stringify(state);
  return `sha256:${digestOf(text)}\n${text}\n`;
}

/** @returns undefined for what is no state; no error, because those of the parser quote the text, which holds keys */
function parseState(text: string): AgentState | undefined {
  let state: Partial<Record<string, unknown>>;
  try {
    state = (JSON.parse(text) ?? {}) as typeof state;
  } catch {
    return undefined;
  }
  const texts = [state['seed'], state['sealingSeed'], state['clusterId'], state['hubId']];
  return texts.every((one) => typeof one === 'string') ? (state as unknown as AgentState) : undefined;
}

/** @throws RollcallError AGENT_STATE_INVALID, without any part of the state in its message */
export function decodeAgentState(encoded: string, place: string): AgentState {
  const [digest = '', text = ''] = encoded.split('\n');
  if (digest !== `sha256:${digestOf(text)}`) {
    throw new RollcallError(
      'AGENT_STATE_INVALID',
      `the state of the agent in ${place} is torn or was edited`,
    );
  }
  const state = parseState(text);
  if (state === undefined)
    throw new RollcallError('AGENT_STATE_INVALID', `the state of the agent in ${place} is none`);
  const version: unknown = state.version;
  if (version === 1) return state;
  const shown = typeof version === 'number' ? `of version ${version}, not 1` : 'without a version';
  throw new RollcallError('AGENT_STATE_INVALID', `the state of the agent in ${place} is ${shown}`);
}

/**
 * An agent's keys belong to one cluster and one hub.
 * @param expected.hubId - of the token that was given, if any
 * @throws RollcallError AGENT_STATE_OTHER
 */
export function checkStateFits(
  state: AgentState,
  place: string,
  expected: { hubId?: string | undefined; clusterId?: string | undefined },
): void {
  const wrong =
    expected.hubId !== undefined && expected.hubId !== state.hubId
      ? `hub "${state.hubId}", and the token is of hub "${expected.hubId}"`
      : expected.clusterId !== undefined && expected.clusterId !== state.clusterId
        ? `cluster "${state.clusterId}", and this is cluster "${expected.clusterId}"`
        : undefined;
  if (wrong !== undefined)
    throw new RollcallError('AGENT_STATE_OTHER', `the keys in ${place} belong to ${wrong}`);
}
