/**
 * How long a hub takes to come back from its backup: `node bench/trust/restore.ts [CLUSTERS]`. Its history is made here, as the
 * services would have written it; nothing else is.
 */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BusAddress } from '@rollcall/shared/bus';
import { draft, type EventDraft, policyDeclarationSchema, policyDeclared } from '@rollcall/shared/events';
import { resources } from '@rollcall/shared/kubernetes';
import { consumedEvents, scopedUserClaims } from '@rollcall/shared/rights';
import { createNkey, encodeJwt, nkeyFromSeed } from '@rollcall/shared/trust';
import { type BackupHeader, bodyFields, formatVersion } from '../../cli/backup/backup-format.ts';
import { readSecretFiles } from '../../cli/backup/backed-up-files.ts';
import { checkBackup } from '../../cli/backup/read-backup.ts';
import { restoreHub } from '../../cli/backup/restore.ts';
import { newSealing, sealKeys } from '../../cli/backup/encrypt-keys.ts';
import { createBackupFile } from '../../cli/backup/write-backup.ts';
import { startEmbeddedHub } from '../../cli/up/embedded-hub.ts';
import { openHubState } from '../../cli/up/state/hub-state.ts';
import { connectWithCredentials } from '../../tests/harness/raw-agent.ts';
import { nowMs } from '../report/clock.ts';
import { historyWriter, lifeOf } from '../../tests/harness/cluster-history.ts';

const clusters = Number(process.argv[2] ?? 10_000);
const targetSeconds = 60;
const sealer = { kind: 'passphrase', passphrase: 'of a bench and of nothing else' } as const;
const say = (message: string) => process.stderr.write(`[restore] ${message}\n`);
const base = mkdtempSync(join(tmpdir(), 'rollcall-bench-restore-'));
const file = join(base, 'hub.backup');

/** @returns the key of one of its agents, and when the file was done */
async function writeHistory(): Promise<{ agentSeed: string; events: number }> {
  const stateDir = join(base, 'made-here');
  const hub = openHubState(stateDir, Date.now());
  const agent = createNkey('user');
  const out = createBackupFile(file);
  const takenAtMs = Date.now();
  const sealing = newSealing(sealer);
  const throughSequence = 1 + clusters * 6;
  const handled = Object.fromEntries(Object.keys(consumedEvents).map((name) => [name, throughSequence]));
  const header: BackupHeader = {
    rollcallBackup: formatVersion,
    rollcallVersion: 'bench',
    hubId: hub.hubId,
    epoch: 1,
    takenAtMs,
    throughSequence,
    handled,
    sealing,
  };
  await out.write(header);
  let events = 0;
  const encode = historyWriter(takenAtMs);
  async function put(event: EventDraft): Promise<void> {
    const { subject, headers, body, sequence, digest } = encode(event);
    events = sequence;
    const line = {
      stream: 'EVENTS',
      sequence,
      subject,
      timeMs: takenAtMs,
      headers,
      ...bodyFields(body),
      digest,
    };
    await out.write(line);
  }
  const rules = [{ name: 'valid-token', when: 'token.valid', effect: 'Approve' as const }];
  const policy = policyDeclarationSchema.parse({ name: 'default', uid: 'u', generation: 1, rules });
  await put(
    draft(
      policyDeclared,
      { aggregate: { kind: 'policy', id: 'default' }, head: undefined },
      {
        reason: 'R',
        message: 'm',
        section: policy,
      },
    ),
  );
  for (let index = 0; index < clusters; index++) {
    const key = index === 0 ? agent.publicKey : createNkey('user').publicKey;
    for (const event of lifeOf(index, key, takenAtMs - 60_000)) await put(event);
  }
  const secrets = { contentDigest: out.contentDigest(), files: readSecretFiles(stateDir) };
  await out.write({ keys: sealKeys(secrets, sealing, sealer) });
  await out.end();
  return { agentSeed: agent.seed, events };
}

/** An agent of before comes back: connects with what it has, and renews. */
async function comesBack(
  stateDir: string,
  agentSeed: string,
  hub: { address: BusAddress; hub: { hubId: string } },
) {
  const registrar = JSON.parse(readFileSync(join(stateDir, 'identities', 'registrar.json'), 'utf8')) as {
    agentsAccount: string;
    agentSigners: { member: string };
  };
  const key = nkeyFromSeed(agentSeed);
  const atMs = Date.now();
  const jwt = encodeJwt(
    {
      subject: key.publicKey,
      name: 'cluster-0',
      nowMs: atMs,
      expiresAtMs: atMs + 3_600_000,
      nats: scopedUserClaims(registrar.agentsAccount),
    },
    nkeyFromSeed(registrar.agentSigners.member),
  );
  await using agent = await connectWithCredentials(hub, key, { jwt, seed: agentSeed });
  return (await agent.request('renew', { clusterId: 'cluster-0' })).result.kind;
}

async function main(): Promise<void> {
  say(`a history of ${clusters} clusters`);
  const { agentSeed, events } = await writeHistory();
  say(`${events} events in ${Math.ceil(statSync(file).size / 1024)} KiB; now on an empty machine`);
  const stateDir = join(base, 'restored');
  const fromMs = nowMs();
  const seconds = () => ((nowMs() - fromMs) / 1000).toFixed(1);
  const backup = await checkBackup(file);
  say(`read and checked after ${seconds()} s`);
  await restoreHub(backup, { stateDir, opener: sealer });
  say(`streams filled after ${seconds()} s`);
  await using hub = await startEmbeddedHub({ stateDir, port: 0 });
  say(`services run after ${seconds()} s`);
  const address = hub.natsAddress;
  const kind = await comesBack(stateDir, agentSeed, { address, hub: hub.hub });
  while (hub.services.some((service) => service.notReady() !== undefined))
    await new Promise((resolve) => setTimeout(resolve, 20));
  const servingSeconds = seconds();
  const shown = (await hub.admin.list(resources.managedClusters)).length;
  const verdict = kind === 'admitted' && Number(servingSeconds) <= targetSeconds ? 'met' : 'MISSED';
  process.stdout.write(
    `a hub of ${clusters} clusters (${events} events) restored and serving: ${servingSeconds} s (target ≤ ${targetSeconds} s: ${verdict}); its agent hears "${kind}"; ${shown} clusters shown in Kubernetes by then\n`,
  );
}

try {
  await main();
} finally {
  rmSync(base, { recursive: true, force: true });
}
