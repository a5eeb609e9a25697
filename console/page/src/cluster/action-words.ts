import type { Action, ActionVerb, Refusal } from '../../../rows/index.ts';
import type { ActionTarget } from './chosen-action.ts';
import { shellWord } from './shell-word.ts';

export interface ActionWords {
  readonly label: string;
  /** What will happen, said before it does. */
  readonly will: string;
  readonly asksReason: boolean;
  readonly isHard: boolean;
  /** Of the hard ones: what happens and whether it can be taken back, in one line. */
  readonly inShort?: string;
  /** Types of event that answer it. */
  readonly answers: readonly string[];
}

export const actionWords: Readonly<Record<ActionVerb, ActionWords>> = {
  approve: {
    label: 'Approve',
    will: 'The cluster gets credentials and becomes Ready with its first heartbeat.',
    asksReason: true,
    isHard: false,
    answers: ['cluster.approved'],
  },
  deny: {
    label: 'Deny',
    will: 'The request will be refused. The agent may ask again, and is refused until somebody approves it.',
    asksReason: true,
    isHard: true,
    inShort: 'Its request is refused. Approve takes that back.',
    answers: ['cluster.denied'],
  },
  cordon: {
    label: 'Cordon',
    will: 'The cluster will be marked, so that other tools place nothing new there. Nothing that runs is touched.',
    asksReason: false,
    isHard: false,
    answers: ['cluster.cordoned'],
  },
  uncordon: {
    label: 'Uncordon',
    will: 'The mark is taken away: other tools may place something there again.',
    asksReason: false,
    isHard: false,
    answers: ['cluster.uncordoned'],
  },
  move: {
    label: 'Move',
    will: 'The cluster comes into that set and leaves the one that it is in: who has rights by a set, has them by the new one from then on.',
    asksReason: false,
    isHard: false,
    answers: ['cluster.changed'],
  },
  rotate: {
    label: 'Rotate the key',
    will: 'Its agent takes a new key in the place of its own, without an interruption. One that is away does it when it is back.',
    asksReason: true,
    isHard: false,
    answers: ['cluster.rotated'],
  },
  revoke: {
    label: 'Revoke the key',
    will: 'The key of the cluster will be out until a person approves it, and its connection is cut. Its agent may ask again with another key.',
    asksReason: true,
    isHard: true,
    inShort: 'Its key is out; it may ask with another one. Approve takes it back.',
    answers: ['cluster.revoked'],
  },
  ban: {
    label: 'Ban',
    will: 'The cluster will be out, whatever key it asks with, until somebody takes the ban back.',
    asksReason: true,
    isHard: true,
    inShort: 'It is out and may not even ask, until the ban is taken back.',
    answers: ['cluster.banned'],
  },
  unban: {
    label: 'Take the ban back',
    will: 'The cluster may ask again. That does not let it in yet.',
    asksReason: true,
    isHard: false,
    answers: ['cluster.unbanned'],
  },
  unregister: {
    label: 'Remove',
    will: 'The cluster leaves: its agent is told and removes itself, and its keys, its access and (unless its policy says otherwise) its namespace on the hub are deleted.',
    asksReason: false,
    isHard: true,
    inShort: 'Its agent and what it has on the hub go. It cannot be taken back.',
    answers: ['cluster.left', 'cluster.leaving'],
  },
};

/** Deny, of a cluster that is in. */
export const denyMember = {
  will: 'The cluster will be put out: its connection is cut within a second, and its access is taken away. Its namespace stays.',
  inShort: 'It is in: it is cut off, its namespace stays. Approve gives it back.',
} as const;

/** What the button says; a known id under another key is another question. */
export const labelOf = (verb: ActionVerb, { replaceKey }: Pick<ActionTarget, 'replaceKey'>): string =>
  verb === 'approve' && replaceKey !== undefined ? 'Replace the key' : actionWords[verb].label;

/** As the page says it of this cluster. */
export function wordsOfVerb(verb: ActionVerb, isMember: boolean): ActionWords {
  return verb === 'deny' && isMember ? { ...actionWords.deny, ...denyMember } : actionWords[verb];
}

const mayHaveHappened: ReadonlySet<string> = new Set(['DEADLINE_EXCEEDED', 'CONSOLE_AWAY']);

/** Nobody refused: who was asked has not answered in time. */
export const isOutcomeUnknown = ({ code }: Pick<Refusal, 'code'>): boolean => mayHaveHappened.has(code);

/** The same in a terminal. */
export function commandLine({ verb, target, isId, reason, replaceKey, set }: Action): string {
  const words = [
    'rollcall',
    verb,
    ...(isId ? ['--id'] : []),
    target,
    ...(replaceKey === undefined ? [] : ['--replace-key', replaceKey]),
    ...(set === undefined ? [] : ['--to', set]),
    ...(reason === undefined || reason === '' ? [] : ['--reason', reason]),
  ];
  return words.map(shellWord).join(' ');
}
