import type { TrialRow } from '../../../rows/index.ts';
import { counted } from '../parts/state-words.ts';

export interface TrialSentence {
  readonly text: string;
  /** More come in without a person. */
  readonly isMore: boolean;
}

const arrow = ' → ';

/** What the draft would change, in one sentence. */
export function trialSentence({
  differently,
  counts,
}: Pick<TrialRow, 'differently' | 'counts'>): TrialSentence {
  if (differently === 0) return { text: 'The draft changes nothing for them.', isMore: false };
  let [more, fewer] = [0, 0];
  for (const [change, count] of Object.entries(counts)) {
    const [was, wouldBe] = change.split(arrow);
    if (wouldBe === 'approved') more += count;
    else if (was === 'approved') fewer += count;
  }
  const others = differently - more - fewer;
  const parts = [
    ...(more > 0 ? [`let ${counted(more, 'more cluster')} in without a person`] : []),
    ...(fewer > 0 ? [`no longer let ${counted(fewer, 'cluster')} in without a person`] : []),
    ...(others > 0
      ? [
          `decide ${counted(others, 'other request')} differently, without letting ${others === 1 ? 'it' : 'them'} in`,
        ]
      : []),
  ];
  return { text: `The draft would ${parts.join(', and ')}.`, isMore: more > 0 };
}
