import type { ReplyResult, ReceivedRequest } from '@rollcall/shared/protocol';
import { inSpan, type Step } from '@rollcall/shared/tracing';

/** How a request shows in its trace. */
export function requestStep(request: ReceivedRequest['request']): Step {
  return {
    name: `registrar request ${request.verb}`,
    kind: 'server',
    traceparent: request.traceparent,
    attributes: { 'rollcall.service': 'registrar', 'rollcall.correlation': request.id },
  };
}

/**
 * Answers a request in a span of its own.
 * @param answer - is given the request with the `traceparent` for whatever it writes
 */
export function inRequestSpan<Request extends ReceivedRequest['request']>(
  request: Request,
  answer: (traced: Request) => Promise<ReplyResult>,
): Promise<ReplyResult> {
  return inSpan(requestStep(request), (traceparent) => answer({ ...request, traceparent }));
}
