/** What the hub takes as a token, for whoever judges one without declaring it: the CLI. The very code of the approver. */
export { setProblem } from './set-problem.ts';
export { readToken } from './token-declaration.ts';
