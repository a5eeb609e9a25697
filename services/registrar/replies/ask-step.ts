import type { AnswerResult, ReceivedAsk } from '@rollcall/shared/protocol';
import { inSpan, type Step } from '@rollcall/shared/tracing';

/** How an ask shows in its trace. */
export function askStep(ask: ReceivedAsk['ask']): Step {
  return {
    name: `registrar ask ${ask.verb}`,
    kind: 'server',
    traceparent: ask.traceparent,
    attributes: { 'rollcall.service': 'registrar', 'rollcall.correlation': ask.id },
  };
}

/**
 * Answers an ask in a span of its own.
 * @param answer - is given the ask with the `traceparent` for whatever it writes
 */
export function inAskSpan<Ask extends ReceivedAsk['ask']>(
  ask: Ask,
  answer: (traced: Ask) => Promise<AnswerResult>,
): Promise<AnswerResult> {
  return inSpan(askStep(ask), (traceparent) => answer({ ...ask, traceparent }));
}
