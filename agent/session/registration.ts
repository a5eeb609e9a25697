import type { Admitted, Reply, ReplyResult } from '@rollcall/shared/protocol/reply';
import type { AgentRole } from '@rollcall/shared/rights';
import { spreadMs } from '../hub/back-off.ts';
import { isStale, type Joining, type JoiningContext, nextJoining, startJoining, verbFor } from './joining.ts';

/**
 * How far the cluster is on its way out (ADR 14).
 * `announced`: a reply says so, and the server still admits the member; `removing-left`: the hub has finished before.
 */
type Leaving = 'staying' | 'announced' | 'removing' | 'removing-left' | 'removed' | 'left';

/** Where the registration of this cluster stands, as its agent knows it. */
export interface Registration {
  readonly joining: Joining;
  readonly leaving: Leaving;
  /** A person in the member wants it to leave. */
  readonly isLeaveWanted: boolean;
  readonly droppedLabelsAreShown: boolean;
}

type Said = Pick<Reply, 'result' | 'atMs'>;
type Admission = Omit<Admitted, 'kind'>;

export type RegistrationInput =
  /** A connection is there; `awayMs`: how long there was none before. */
  | { readonly kind: 'connected'; readonly role: AgentRole; readonly awayMs?: number }
  /** A request was sent, or an admission could not be used yet. */
  | { readonly kind: 'asked' }
  /** A reply about the status of a key, signed by the hub; `role`: of the connection that counts. */
  | {
      readonly kind: 'replied';
      readonly reply: Said;
      readonly isToLast: boolean;
      readonly agentKey: string;
      readonly isOwnKey: boolean;
      readonly role: AgentRole | undefined;
    }
  /** The hub does not know what it should. */
  | { readonly kind: 'forgotten' }
  /** The hub has let the next key in; `taken-over`: a connection with it stands. */
  | {
      readonly kind: 'rotated';
      readonly admission: Admission;
      readonly atMs: number;
      readonly agentKey: string;
    }
  | { readonly kind: 'taken-over' }
  /** What was installed in the member is removed. */
  | { readonly kind: 'removed' }
  /** The hub has had its time to hear the goodbye. */
  | { readonly kind: 'goodbye-over' };

export type RegistrationEffect =
  | { readonly kind: 'schedule' }
  | {
      readonly kind: 'adopt';
      readonly admission: Admission;
      readonly atMs: number;
      readonly agentKey: string;
    }
  | { readonly kind: 'learn-access'; readonly reply: Said; readonly isToLast: boolean }
  | { readonly kind: 'stop-access' }
  | { readonly kind: 'keep-waiting-credentials'; readonly jwt: string }
  | { readonly kind: 'show-dropped-labels'; readonly labels: readonly string[] }
  | { readonly kind: 'show-waiting'; readonly result: Extract<ReplyResult, { kind: 'waiting' }> }
  | {
      readonly kind: 'show-refused';
      readonly result: Extract<ReplyResult, { kind: 'refused' }>;
      readonly retryInMs: number;
    }
  | { readonly kind: 'close-connection' }
  | { readonly kind: 'warn-leave-announced' }
  | { readonly kind: 'remove-installed'; readonly message: string }
  | { readonly kind: 'await-goodbye' }
  | { readonly kind: 'end' };

export interface Step {
  readonly state: Registration;
  readonly effects: readonly RegistrationEffect[];
}

/** Shorter rests are spent connected. */
const shortRestMs = 15_000;
const leaveUndecidedMs = 30_000;
/** All of a large fleet may ask to leave: by the time over which the hub has it return, some 25 a second ask again. */
const leaveUndecidedReturns = 10;
const schedule: RegistrationEffect = { kind: 'schedule' };

export function startRegistration(options: {
  nowMs: number;
  renewAtMs?: number | undefined;
  isLeaveWanted: boolean;
}): Registration {
  const { isLeaveWanted, ...times } = options;
  return { joining: startJoining(times), leaving: 'staying', isLeaveWanted, droppedLabelsAreShown: false };
}

/** Whether the hub has said that the cluster leaves, and its server: then nothing else is requested or followed any more. */
export function isObeyingLeave({ leaving }: Registration): boolean {
  return leaving !== 'staying' && leaving !== 'announced';
}

/** Whether nothing new is begun, because the cluster leaves or a person here wants that. */
export function isLeaving(state: Registration): boolean {
  return state.isLeaveWanted || isObeyingLeave(state);
}

/** What to request over a connection of that role; undefined while what was installed is removed, and at the end. */
export function requestFor(
  state: Registration,
  role: AgentRole,
): { verb: 'join' | 'renew' } | { verb: 'leave'; done: boolean } | undefined {
  if (state.leaving === 'removed') return { verb: 'leave', done: true };
  if (isObeyingLeave(state)) return undefined;
  return state.isLeaveWanted ? { verb: 'leave', done: false } : { verb: verbFor(state.joining, role) };
}

const requestNow = (state: Registration, nowMs: number): Registration => ({
  ...state,
  joining: { ...state.joining, unanswered: 0, requestAtMs: nowMs },
});

/** Takes the registration one step on, and says what is to be done about it, in that order. */
export function step(state: Registration, input: RegistrationInput, context: JoiningContext): Step {
  const { nowMs } = context;
  switch (input.kind) {
    case 'connected': {
      const next = { ...state, joining: nextJoining(state.joining, input, context) };
      // A member has nothing to request until it is time to renew.
      return { state: isLeaving(state) ? requestNow(next, nowMs) : next, effects: [schedule] };
    }
    case 'asked':
      return {
        state: { ...state, joining: nextJoining(state.joining, input, context) },
        effects: [schedule],
      };
    case 'forgotten':
      return { state: requestNow(state, nowMs), effects: [schedule] };
    case 'rotated': {
      const { admission, atMs, agentKey } = input;
      return {
        state,
        effects: isObeyingLeave(state) ? [] : [{ kind: 'adopt', admission, atMs, agentKey }],
      };
    }
    case 'taken-over':
      // It renews soon: with that the hub hears that it needs the old key no more.
      return {
        state: { ...state, joining: { ...state.joining, status: 'admitted', requestAtMs: nowMs } },
        effects: [],
      };
    case 'removed':
      return removed(state, nowMs);
    case 'goodbye-over':
      return state.leaving === 'removed' ? left(state) : { state, effects: [] };
    case 'replied':
      return (
        aboutLeaving(state, input) ??
        aboutUndecidedLeave(state, input, context) ??
        aboutStatus(state, input, context)
      );
  }
}

type Replied = RegistrationInput & { kind: 'replied' };

function left(state: Registration): Step {
  return { state: { ...state, leaving: 'left' }, effects: [{ kind: 'end' }] };
}

function removed(state: Registration, nowMs: number): Step {
  if (state.leaving === 'removing-left') return left(state);
  if (state.leaving !== 'removing') return { state, effects: [] };
  const next: Registration = { ...requestNow(state, nowMs), leaving: 'removed' };
  return { state: next, effects: [schedule, { kind: 'await-goodbye' }] };
}

/**
 * A reply alone puts no member out: who has stolen the registrar can sign one. It is obeyed when the server does not let in by
 * member credentials any more, which it does by what the approver has decided (ADR 14).
 * @returns undefined where the reply is to be followed as any other
 */
function aboutLeaving(state: Registration, { reply: { result }, role }: Replied): Step | undefined {
  const hasLeft = result.kind === 'refused' && result.code === 'CLUSTER_LEFT';
  const stopAccess: RegistrationEffect = { kind: 'stop-access' };
  if (isObeyingLeave(state)) {
    if (state.leaving !== 'removed' || !hasLeft) return { state, effects: [stopAccess] };
    const end = left(state);
    return { state: end.state, effects: [...end.effects, stopAccess] };
  }
  if (result.kind !== 'leave' && !hasLeft) return undefined;
  if (role === 'member' && !state.isLeaveWanted)
    return {
      state: { ...state, leaving: 'announced' },
      effects: state.leaving === 'announced' ? [] : [{ kind: 'warn-leave-announced' }],
    };
  const why = result.kind === 'leave' ? `the cluster leaves the hub (${result.reason})` : result.message;
  const message = `${why}; removing what was installed here`;
  return {
    state: { ...state, leaving: hasLeft ? 'removing-left' : 'removing' },
    effects: [{ kind: 'remove-installed', message }, stopAccess],
  };
}

/**
 * The hub has heard the request to leave, and has not decided: it may be one of thousands, or wait for a person. Credentials
 * are of no use any more, and each would be one more connection. It ends the connection when it has decided.
 * @returns undefined where the reply is about something else
 */
function aboutUndecidedLeave(
  state: Registration,
  { reply: { result }, role }: Replied,
  { nowMs, random, returnWithinMs = 0 }: JoiningContext,
): Step | undefined {
  const isUndecided = result.kind === 'done' || (result.kind === 'admitted' && role === 'member');
  if (!state.isLeaveWanted || !isUndecided) return undefined;
  // The second request comes as soon as for a reply that was lost: mostly it is decided by then.
  if (result.kind === 'done' && state.joining.unanswered < 2) return { state, effects: [] };
  const restMs = Math.max(leaveUndecidedMs, leaveUndecidedReturns * returnWithinMs);
  const requestAtMs = nowMs + spreadMs(restMs, 0.5, random);
  return { state: { ...state, joining: { ...state.joining, requestAtMs } }, effects: [schedule] };
}

function aboutStatus(state: Registration, input: Replied, context: JoiningContext): Step {
  const { reply, isToLast, agentKey, isOwnKey } = input;
  const { result, atMs } = reply;
  const heard = { atHubMs: atMs, result, isToLast };
  if (isStale(state.joining, heard)) return { state, effects: [] };
  // What is said of a key that has given way, or has not taken over yet, is not said of the agent.
  if (!isOwnKey) {
    const isIn = result.kind === 'admitted';
    return { state, effects: isIn ? [{ kind: 'adopt', admission: result, atMs, agentKey }] : [] };
  }
  const joining = nextJoining(state.joining, { kind: 'answered', ...heard }, context);
  const labels = state.droppedLabelsAreShown ? [] : droppedLabels(result);
  const effects: RegistrationEffect[] = [{ kind: 'learn-access', reply, isToLast }];
  effects.push(...statusEffects(input, labels, joining.requestAtMs - context.nowMs), schedule);
  const droppedLabelsAreShown = state.droppedLabelsAreShown || labels.length > 0;
  // Who is given credentials after it was announced does not leave.
  const isOver = state.leaving === 'announced' && result.kind === 'admitted';
  const leaving = isOver ? 'staying' : state.leaving;
  return { state: { ...state, joining, leaving, droppedLabelsAreShown }, effects };
}

/** Shown once: each reply to a request that waits repeats them, and so does each renewal. */
function droppedLabels(result: ReplyResult): readonly string[] {
  const said: unknown = 'droppedLabels' in result ? result.droppedLabels : undefined;
  return Array.isArray(said) ? said.map(String) : [];
}

function statusEffects(input: Replied, labels: readonly string[], restMs: number): RegistrationEffect[] {
  const { role, agentKey, reply } = input;
  const { result, atMs } = reply;
  const effects: RegistrationEffect[] = [];
  const showLabels: RegistrationEffect[] = labels.length > 0 ? [{ kind: 'show-dropped-labels', labels }] : [];
  switch (result.kind) {
    case 'waiting':
      // A member whose connection stands is one, whatever else is being decided about it.
      if (result.credentials !== undefined && role !== 'member')
        effects.push({ kind: 'keep-waiting-credentials', jwt: result.credentials });
      return [...effects, ...showLabels, { kind: 'show-waiting', result }];
    case 'refused':
      effects.push({ kind: 'show-refused', result, retryInMs: restMs });
      // There is nothing to wait for over a connection of that kind; the next one is made when it is time to ask again.
      if ((role === 'token' || role === 'returning') && restMs > shortRestMs)
        effects.push({ kind: 'close-connection' });
      return effects;
    case 'admitted':
      return [...showLabels, { kind: 'adopt', admission: result, atMs, agentKey }];
    case 'leave':
    case 'access':
    case 'rotated':
    case 'done':
      return [];
  }
}
