import { fullJitterMs } from '../../agent/hub/back-off.ts';
import { connectByCallout, connectMember, hear, ofAgent, usualPatience } from './connect.ts';
import type { Process } from './queues/machine.ts';
import { createTimes, type Times } from './queues/times.ts';
import { anyOf, inTurn, serve, work, type World } from './world.ts';

/** An append is kept once the leader and another server have it on disk. */
function append(world: World, costMs: number, then: () => void): void {
  const [leader] = world.nats;
  if (!leader) return;
  work(world, { on: leader, costMs }, () => world.timeline.after(world.numbers.storedMs, then));
}

/** A write to Kubernetes: it is answered when etcd has it. */
export function write({ timeline, numbers, api, etcd, grain }: World, then: () => void): void {
  const watched = 1 + (numbers.replicas - 1) * numbers.apiEachReplicaShare;
  api.submit(numbers.apiWriteMs * watched * grain, {
    whenOver: () =>
      etcd.submit(numbers.etcdWriteMs * grain, { whenOver: () => timeline.after(numbers.storedMs, then) }),
  });
}

/** Looks at its hub with a connection that only compares the pinned CA. */
function comparePin(world: World, server: Process, then: () => void): void {
  work(world, { on: server, costMs: world.numbers.natsTlsMs }, () =>
    world.timeline.after(world.numbers.roundTripMs, then),
  );
}

/** The parts of a join's cost for messages: of seven appends with what follows from them, and what comes and goes besides. */
const messageParts = 8;

/**
 * One cluster that a policy approves, from its first connection until Kubernetes shows it Ready, or, where only exceptions are shown,
 * until it is stored that it joined.
 */
export function join(world: World, then: () => void): void {
  const { numbers, nats, timeline } = world;
  const apart = numbers.sharedCores > 0 ? 1 : numbers.apartTimes;
  const further = numbers.replicas - 1;
  const messageMs = (numbers.natsJoinMessagesMs + further * numbers.natsEachReplicaMs) / messageParts;
  const server = anyOf(world, nats);
  const replica = world.random.int(0, numbers.replicas - 1);
  const registrar = world.random.int(0, numbers.registrars - 1);
  const budget = world.writeBudgets[replica];
  const showsAll = numbers.showsAll > 0;
  const agentMs = Math.max(0, numbers.agentJoinMs - numbers.agentReturnMs);
  const registrarMs = Math.max(0, numbers.registrarJoinMs - numbers.registrarCalloutMs / apart);
  const show = (writes: number, next: () => void) =>
    showsAll
      ? serve(world, { by: 'projector', replica, costMs: (numbers.projectorJoinMs * writes) / 4 }, () =>
          inTurn(writes, (again) => budget?.pass(world.grain, () => write(world, again)), next),
        )
      : next();

  function provision(): void {
    const makes = numbers.namespacesForAll > 0;
    serve(world, { by: 'provisioner', replica, costMs: makes ? numbers.provisionerJoinMs : 0 }, () => {
      if (makes) write(world, () => append(world, messageMs, () => undefined));
    });
  }

  function firstHeartbeat(): void {
    const heartbeatMs = Math.max(0, numbers.heartbeatJoinMs * apart - numbers.heartbeatReturnMs);
    hear(world, heartbeatMs, () => append(world, messageMs, () => show(1, then)));
  }

  function admit(): void {
    serve(world, { by: 'registrar', replica: registrar, costMs: registrarMs / 2 }, () =>
      append(world, messageMs, () =>
        timeline.after(numbers.roundTripMs, () =>
          connectMember(world, anyOf(world, nats), () => firstHeartbeat()),
        ),
      ),
    );
  }

  function decide(): void {
    show(1, () => undefined);
    serve(world, { by: 'approver', replica, costMs: numbers.approverJoinMs }, () =>
      append(world, messageMs, () => {
        admit();
        provision();
        serve(world, { by: 'account-controller', replica, costMs: numbers.accountJoinMs }, () => undefined);
        show(2, () => undefined);
      }),
    );
  }

  function ask(failures: number): void {
    connectByCallout(world, server, (isIn) => {
      if (!isIn) {
        return timeline.after(fullJitterMs(usualPatience, failures + 1, world.random.next()), () =>
          ask(failures + 1),
        );
      }
      timeline.after(numbers.roundTripMs, () =>
        work(world, { on: server, costMs: 2 * messageMs }, () =>
          serve(world, { by: 'registrar', replica: registrar, costMs: registrarMs / 2 }, () =>
            append(world, 2 * messageMs, decide),
          ),
        ),
      );
    });
  }

  ofAgent(world, agentMs / 2, () =>
    comparePin(world, server, () => ofAgent(world, agentMs / 2, () => ask(0))),
  );
}

/** @param options.everyMs - 0: all at the same moment */
export function joinMany(world: World, options: { count: number; everyMs: number }): Times {
  const readyMs = createTimes();
  const count = Math.max(1, Math.round(options.count / world.grain));
  for (let one = 0; one < count; one++) {
    const atMs = one * options.everyMs * world.grain;
    world.timeline.at(atMs, () => join(world, () => readyMs.add(world.timeline.nowMs() - atMs)));
  }
  return readyMs;
}
