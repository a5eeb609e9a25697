import type { BusCredentials } from '@rollcall/shared/bus';

const block = (what: string, text: string) => `-----BEGIN ${what}-----\n${text}\n------END ${what}------\n`;

/** The credentials file that the `nats` command and every NATS client read. */
export function credsText({ jwt, seed }: BusCredentials): string {
  return `${block('NATS USER JWT', jwt)}\n${block('USER NKEY SEED', seed)}`;
}
