import { heartbeatFlags } from '@rollcall/shared/bus';
import { decodeReply } from '@rollcall/shared/protocol';
import { decodeJwt, type Nkey } from '@rollcall/shared/trust';
import { encodeRequest } from '../../agent/protocol/request-message.ts';
import { type Joining, nextJoining, startJoining } from '../../agent/session/joining.ts';
import { checkKept } from './acknowledged.ts';
import { hubSecrets } from './nats-account.ts';
import { nothingFollows } from './scheduler.ts';
import { settings } from './services.ts';
import type { World } from './world.ts';

export interface MemberPlan {
  readonly clusterId: string;
  readonly clusterName: string;
}

const lookAgainMs = 100;
const heartbeatMs = 15_000;
let cids = 0;

/** An agent of a member cluster: it decides when to ask as the real one does, and it can be restarted, copied and lost. */
export class Agent {
  key: Nkey;
  /** The one that is to take over, from the first request for it on. */
  next: Nkey | undefined;
  readonly plan: MemberPlan;
  readonly token: Nkey | undefined;
  isRunning = true;
  joining: Joining;
  /** Second in which its member credentials were issued; undefined without any. */
  credentialsAtS: number | undefined;
  readonly #world: World;
  /** Half of the agents clean up and say so; for the others the hub waits as long as it waits for anybody. */
  readonly #isTidy: boolean;
  #leaving: 'no' | 'wanted' | 'told' = 'no';
  #region: string | undefined;
  #refusals = 0;
  #turn = 0;
  /** Of its connection, the newest it has had. */
  #cid: number | undefined;

  constructor(world: World, plan: MemberPlan, keys: { key: Nkey; token: Nkey | undefined }) {
    this.#world = world;
    this.plan = plan;
    this.key = keys.key;
    this.token = keys.token;
    this.joining = startJoining({ nowMs: world.scheduler.nowMs });
    this.#isTidy = world.random.chance(0.5);
    this.#work();
    this.#heartbeat();
    if (world.random.chance(0.5)) this.#askSoon();
  }

  /** Starts again with what it had on its disk; told to stop, it says goodbye first. */
  restart(isTold: boolean): void {
    if (isTold) this.sayGoodbye();
    this.#world.note(this.name, () => 'restarts');
    this.joining = startJoining({ nowMs: this.#world.scheduler.nowMs });
    this.disconnect();
    this.#askSoon();
  }

  /** Takes another key in the place of its own (ADR 10): it asks until that one is in. */
  rotate(next: Nkey): void {
    if (this.next !== undefined || this.#leaving !== 'no') return;
    this.#world.note(this.name, () => `takes the key ${next.publicKey} from now on`);
    this.next = next;
    this.#insist();
  }

  /** A person in the member wants it to leave. */
  leave(): void {
    if (this.#leaving !== 'no') return;
    this.#world.note(this.name, () => 'wants to leave');
    this.#leaving = 'wanted';
    this.#insist();
  }

  /** Asks again for what it wants beside being a member, for as long as it is open. */
  #insist(): void {
    const { scheduler, random } = this.#world;
    if (!this.isRunning || (this.#leaving !== 'wanted' && this.next === undefined)) return;
    if (this.isMember) this.#askFor();
    scheduler.after(random.int(2000, 20_000), () => {
      this.#insist();
      return nothingFollows;
    });
  }

  #askFor(): void {
    const { clusterId } = this.plan;
    const sender = { hubId: settings().hubId, ownKey: this.key, tokenKey: undefined };
    if (this.#leaving === 'wanted')
      this.#send(encodeRequest({ verb: 'leave', body: { clusterId, done: false } }, sender));
    // Also of one that leaves: the hub may have let the next key in, and then the former one cannot leave.
    if (this.next !== undefined)
      this.#send(
        encodeRequest(
          { verb: 'rotate', body: { clusterId, newKey: this.next.publicKey } },
          { ...sender, nextKey: this.next },
        ),
      );
  }

  /** It says something else of its member from now on. */
  moveTo(region: string | undefined): void {
    this.#world.note(this.name, () => `is in region ${region ?? 'none'} from now on`);
    this.#region = region;
  }

  /** What it says of its member, as policies see it. */
  get facts() {
    const region = this.#region === undefined ? {} : { region: this.#region };
    return { kubernetesVersion: 'v1.33.1', ...region, nodes: { total: 3, ready: 3, schedulable: 3 } };
  }

  stop(why: string): void {
    this.#world.note(this.name, () => why);
    this.isRunning = false;
    this.disconnect();
  }

  get name(): string {
    return `agent ${this.plan.clusterId} ${this.key.publicKey.slice(0, 6)}`;
  }

  disconnect(): void {
    const { connections } = this.#world.account;
    const { publicKey } = this.key;
    // Whoever has a copy of the key has a connection of its own.
    if (connections.get(publicKey)?.cid === this.#cid) connections.delete(publicKey);
  }

  /** Whether the server takes heartbeats from it. */
  get isMember(): boolean {
    const { credentialsAtS, key } = this;
    if (credentialsAtS === undefined) return false;
    return !this.#world.account.refuses(key.publicKey, credentialsAtS);
  }

  #work(): void {
    const { scheduler, random } = this.#world;
    const askInMs = Math.min(this.joining.requestAtMs - scheduler.nowMs, 5000);
    scheduler.after(Math.max(askInMs, lookAgainMs) + random.int(0, 300), () => {
      this.#askIfDue();
      if (this.isRunning) this.#work();
      return nothingFollows;
    });
  }

  #askSoon(): void {
    const { scheduler, random } = this.#world;
    scheduler.after(random.int(0, 30), () => this.#askIfDue());
  }

  #askIfDue(): void {
    if (this.isRunning && this.#world.scheduler.nowMs >= this.joining.requestAtMs) this.#ask();
  }

  #ask(): void {
    const { scheduler, random } = this.#world;
    const { clusterId, clusterName } = this.plan;
    const { token } = this;
    // Who is in renews, also after a refusal that was meant for a copy of its key.
    const isAdmitted = this.joining.status === 'admitted' || this.isMember;
    const context = { nowMs: scheduler.nowMs, random: random.next(), refusedRetryMs: this.#refusedRetryMs() };
    this.joining = nextJoining(this.joining, { kind: 'asked' }, context);
    const isRenewal = isAdmitted && this.#turn++ % 2 === 0;
    // Who changes one thing may change others: labels stay those of the first request.
    const team = this.#region === undefined ? 'a' : 'b';
    const join = { clusterId, clusterName, labels: { team, other: 'b' }, facts: this.facts };
    const message = encodeRequest(
      isRenewal
        ? { verb: 'renew', body: { clusterId } }
        : {
            verb: 'join',
            body: { ...join, ...(token === undefined ? {} : { tokenKey: token.publicKey }) },
          },
      { hubId: settings().hubId, ownKey: this.key, tokenKey: token },
    );
    this.#world.note(this.name, () => `asks to ${isRenewal ? 'renew' : `join as ${clusterName}`}`);
    this.#send(message);
  }

  #send({ subject, data }: { subject: string; data: Uint8Array }): void {
    const { scheduler, random, faults } = this.#world;
    const deliver = (delayMs: number) =>
      scheduler.after(delayMs, () => {
        const registrar = this.#world.anyReplica('registrar');
        if (registrar) this.#world.tell(registrar, { kind: 'ask', subject, data });
      });
    if (faults.strikes('ask.twice')) deliver(random.int(0, 4000));
    if (faults.strikes('ask.late')) deliver(random.int(5000, 70_000));
    if (!faults.strikes('ask.lost')) deliver(random.next() * 3);
  }

  hear(verb: string, data: Uint8Array): void {
    const { scheduler, random } = this.#world;
    if (!this.isRunning) return;
    const decoded = decodeReply(data, {
      agentKey: this.key.publicKey,
      replyKeyIsTrusted: (replyKey) => replyKey === hubSecrets().answer.publicKey,
    });
    if (!decoded) return;
    const { result, atMs } = decoded.reply;
    this.#world.note(
      this.name,
      () =>
        `hears ${result.kind} ${'reason' in result ? result.reason : ''}${'code' in result ? `${result.code} ${result.message}` : ''}`,
    );
    // Said to another one that has the same key.
    if ('clusterId' in result && result.clusterId !== this.plan.clusterId) return;
    checkKept(this.#world, { key: this.key.publicKey, verb, result });
    if (result.kind === 'leave') this.#cleanUp();
    if (result.kind === 'refused' && result.code === 'CLUSTER_LEFT') this.#leaving = 'told';
    if (result.kind === 'rotated') return this.#takeNext(result);
    if (result.kind === 'admitted') {
      this.credentialsAtS = decodeJwt(result.credentials)?.iat;
      this.#connect();
    }
    if (verb !== 'join' && verb !== 'renew') return;
    const context = { nowMs: scheduler.nowMs, random: random.next(), refusedRetryMs: this.#refusedRetryMs() };
    this.joining = nextJoining(this.joining, { kind: 'answered', atHubMs: atMs, result }, context);
  }

  #cleanUp(): void {
    const { scheduler, random } = this.#world;
    this.#leaving = 'told';
    if (!this.#isTidy) return;
    scheduler.after(random.int(0, 2000), () => {
      const sender = { hubId: settings().hubId, ownKey: this.key, tokenKey: undefined };
      const body = { clusterId: this.plan.clusterId, done: true };
      if (this.isRunning) this.#send(encodeRequest({ verb: 'leave', body }, sender));
    });
  }

  #takeNext({ key, credentials }: { key: string; credentials: string }): void {
    if (this.next?.publicKey !== key) return;
    this.disconnect();
    this.key = this.next;
    this.next = undefined;
    this.credentialsAtS = decodeJwt(credentials)?.iat;
    // It renews at once, by which the hub knows that the former key is not needed any more.
    this.#turn = 0;
    this.joining = startJoining({
      nowMs: this.#world.scheduler.nowMs,
      renewAtMs: this.#world.scheduler.nowMs,
    });
    this.#connect();
  }

  /** At first shorter than in life, so that the hub has to do with it again soon. */
  #refusedRetryMs(): number {
    return this.#refusals++ < 4 ? 1000 : 45_000;
  }

  #connect(): void {
    this.#cid = ++cids;
    this.#world.account.connections.set(this.key.publicKey, {
      cid: this.#cid,
      // Whoever is cut asks again.
      end: () => {
        this.disconnect();
        this.joining = { ...this.joining, requestAtMs: this.#world.scheduler.nowMs + 1000 };
      },
    });
    const { scheduler, random } = this.#world;
    scheduler.after(random.int(0, 10), () => this.isRunning && this.sayAlive());
  }

  #heartbeat(): void {
    const { scheduler, random } = this.#world;
    scheduler.after(heartbeatMs * (0.9 + random.next() * 0.2), () => {
      if (!this.isRunning) return;
      this.sayAlive();
      this.#heartbeat();
    });
  }

  sayAlive(flags = 0): void {
    if (!this.isMember) return;
    const { faults } = this.#world;
    for (const replica of this.#world.replicasOf('heartbeat')) {
      if (faults.strikes('heartbeat.lost')) continue;
      this.#world.tell(replica, { kind: 'heartbeat', clusterId: this.plan.clusterId, flags });
    }
  }

  sayGoodbye(): void {
    this.sayAlive(heartbeatFlags.goodbye);
  }
}
