export { inSpan, traceIdOf } from './in-span.ts';
