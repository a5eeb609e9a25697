import { join } from 'node:path';
import { connectBus, openEventLog, openFactStore } from '@rollcall/shared/bus';
import { epochAggregate, epochRecord } from '@rollcall/shared/events';
import { createKubeClient, loadKubeAccess } from '@rollcall/shared/kubernetes';
import { rollcallVersion } from '@rollcall/shared/service';
import { temporaryUser } from '../backup/temporary-user.ts';
import { documentText, type DocumentFormat } from '../document-text.ts';
import { exitCodes } from '../exit-code.ts';
import { printResult } from '../output.ts';
import { printable } from '../printable.ts';
import { withProgress } from '../progress.ts';
import { stateDirectory } from '../state-directory.ts';
import { openHubFiles } from '../trust/hub-files.ts';
import { checkHistory } from './check-history.ts';
import { checkPictures, readPictures } from './check-pictures.ts';
import type { Finding } from './finding.ts';

export interface VerifyFlags {
  readonly stateDir?: string;
  readonly output: 'text' | DocumentFormat;
}

export interface VerifyReport {
  readonly epoch: number;
  readonly events: number;
  readonly lastSequence: number;
  readonly witnesses: number;
  readonly findings: readonly Finding[];
}

/**
 * Checks that nothing is missing or changed: each event follows the one it names, every status names an event that is there,
 * and Kubernetes shows what the events say.
 * @throws RollcallError HUB_MISSING, KEYS_OFFLINE, BUS_UNREACHABLE, KUBE_UNREACHABLE
 */
export async function verifyHub(stateDir: string): Promise<VerifyReport> {
  const files = openHubFiles(stateDir);
  const hub = files.read('hub');
  const nc = await connectBus(files.address, temporaryUser(stateDir, hub, 'backup'), 'backup');
  const access = loadKubeAccess({ path: join(stateDir, 'kubernetes', 'kubeconfig'), context: undefined });
  const client = createKubeClient(access, {
    fieldManager: 'rollcall-cli',
    userAgent: `rollcall/${rollcallVersion}`,
  });
  try {
    const log = await openEventLog(nc, { epoch: hub.epoch, source: '/rollcall/cli' });
    const { restored } = epochRecord(await log.read(epochAggregate));
    const { witnesses } = await readPictures(client);
    const history = await checkHistory(nc, witnesses, { epoch: hub.epoch, restored });
    const pictures = await checkPictures(client, { log, facts: await openFactStore(nc) });
    const { events, lastSequence } = history;
    const findings = [...history.findings, ...pictures];
    return { epoch: hub.epoch, events, lastSequence, witnesses: witnesses.length, findings };
  } finally {
    client.close();
    await nc.close();
  }
}

function asText({ epoch, events, witnesses, findings }: VerifyReport): string {
  const all = `${events} events of epoch ${epoch} and before, ${witnesses} objects that name one`;
  if (findings.length === 0)
    return `${all}: the chain is whole, every witness true, and Kubernetes shows what the events say`;
  const lines = findings.map(
    ({ code, about, message, hint }) => `${code}  ${printable(about)}: ${printable(message)}\n    ${hint}`,
  );
  return [`${all}: ${findings.length} finding(s)`, ...lines].join('\n');
}

export async function verify(flags: VerifyFlags): Promise<void> {
  const report = await withProgress('reading the history', verifyHub(flags.stateDir ?? stateDirectory()));
  printResult(flags.output === 'text' ? asText(report) : documentText(report, flags.output));
  if (report.findings.length > 0) process.exitCode = exitCodes.failed;
}
