/** Something that is not as it should be, in words, and what to do about it. */
export interface Finding {
  /** Stable, for programs. */
  readonly code:
    | 'EventsMissing'
    | 'ChainBroken'
    | 'TailLost'
    | 'ArchiveUnknown'
    | 'EventDiffers'
    | 'ProjectionDiffers'
    | 'ProjectionMissing'
    | 'ProjectionUnknown'
    | 'DeclarationDiffers';
  /** What it is about: an event, or an object. */
  readonly about: string;
  readonly message: string;
  readonly hint: string;
}

const hints: Readonly<Record<Finding['code'], string>> = {
  EventsMissing:
    'Events that were acknowledged are gone from the stream: the store of NATS was damaged or replaced. Restore the newest backup.',
  ChainBroken:
    'The history was changed, or written past the services. Find out by whom before you go on; restore the newest backup that `rollcall verify` found good.',
  TailLost:
    'The stream was rolled back: Kubernetes shows a later event than it has. Stop the hub, and restore a newer backup with --keep-kubernetes.',
  ArchiveUnknown:
    'It is of another hub, or was written by a run that was stopped before anything was deleted: then the stream has all of it, and the file can go.',
  EventDiffers:
    'The stream is not the one that Kubernetes was shown: it was rolled back and went on from there, or is that of another hub. Stop the hub, and restore a newer backup with --keep-kubernetes.',
  ProjectionDiffers:
    'See that the projector runs (`rollcall status`); it writes what is missing. Where somebody else writes our status, the admission policies are missing.',
  ProjectionMissing: 'See that the projector runs (`rollcall status`); it makes the object again.',
  DeclarationDiffers:
    'See that the approver runs and reaches the API server (`rollcall status`); it declares what people write there.',
  ProjectionUnknown:
    'Nothing in the history is about this object: it is of events that were lost. Its agent asks again, and a person approves; if there is none, delete it.',
};

export function finding(code: Finding['code'], about: string, message: string): Finding {
  return { code, about, message, hint: hints[code] };
}
