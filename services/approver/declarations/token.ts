/** What the hub takes as a token, for whoever judges one without declaring it: the CLI. The very code of the approver. */
export { readToken } from './token-declaration.ts';
