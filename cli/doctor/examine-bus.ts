import { isServerNewEnough, minimumServerVersion } from '@rollcall/shared/service/bus-safety';
import type { OpenBus } from '../events/open-bus.ts';
import { heldText, judgeHub, troublesOf } from '../status/hub-status.ts';
import { type KubernetesSide, readBusSide } from '../status/read-sides.ts';
import { examine, finding, type Finding, ok, skipped } from './finding.ts';
import { judgeClock, measureClock } from './judge-clock.ts';
import { serverTimeMs } from './server-time.ts';

function versionFinding(version: string): Finding {
  return isServerNewEnough(version)
    ? ok('nats-version', `nats-server ${version}`)
    : finding(
        'nats-version',
        `nats-server ${version} is older than ${minimumServerVersion.join('.')}`,
        'Upgrade it: older ones can lose or leak what Rollcall relies on.',
      );
}

/** What the bus says: server, clock, services, lag, dead letters. */
export async function examineBus(bus: OpenBus, kubernetes: KubernetesSide): Promise<readonly Finding[]> {
  const [clock, side] = await Promise.all([
    examine('clock NATS', async () => {
      const measured = await measureClock(() => serverTimeMs(bus.nc));
      return measured === undefined
        ? skipped('clock NATS', 'the server did not say its time')
        : judgeClock('NATS', measured);
    }),
    readBusSide(bus),
  ]);
  const status = judgeHub(side, kubernetes);
  const isAnyReady = status.services.some(({ ready }) => ready > 0);
  const services = status.services.map(({ name, replicas, ready, versions }): Finding => {
    const check = `service ${name}`;
    if (replicas === 0)
      return finding(
        check,
        'does not answer',
        `Start it, and read its log: \`rollcall serve ${name}\`, or Deployment rollcall-${name}.`,
      );
    if (ready === 0) return finding(check, 'is not ready', 'Its /readyz and its log say why.');
    const others = versions.filter((version) => version !== status.version);
    if (others.length > 0)
      return finding(
        check,
        `runs ${others.join(', ')}; this command is ${status.version}`,
        'Run one version everywhere; the CLI may be newer for the time of an upgrade.',
      );
    return ok(check, `${ready} of ${replicas} ready, ${versions.join(', ')}`);
  });
  const { deadLetters, eventsUsedPercent, heldEvents, projectorLagSeconds, outage, streams } = status;
  return [
    versionFinding(side.version ?? 'unknown'),
    isAnyReady
      ? ok('nats-sync', 'acknowledged means written: no service starts otherwise')
      : skipped('nats-sync', 'the services check it when they start, and none is ready'),
    ...clock,
    ...services,
    outage === true
      ? finding(
          'outage',
          'a large part of the fleet is silent together',
          "That is most likely the hub's own network; transitions wait until heartbeats are back.",
        )
      : ok('outage', 'none'),
    projectorLagSeconds === undefined
      ? skipped('lag', 'the projector does not say')
      : projectorLagSeconds > 10
        ? finding(
            'lag',
            `what Kubernetes shows was ${projectorLagSeconds.toFixed(1)} s behind`,
            'Look at the API server first, then at the log of the projector.',
          )
        : ok('lag', `what Kubernetes shows was ${projectorLagSeconds.toFixed(3)} s behind`),
    deadLetters === undefined
      ? skipped('dead-letters', 'these credentials may not look')
      : deadLetters > 0
        ? finding(
            'dead-letters',
            `${deadLetters} events could not be handled`,
            '`rollcall dead list -o wide` says which and why.',
          )
        : ok('dead-letters', 'none'),
    heldEvents === undefined
      ? skipped('held-events', 'these credentials may not look')
      : Object.keys(heldEvents).length > 0
        ? finding(
            'held-events',
            `held for a newer version: ${heldText(heldEvents)}`,
            'Upgrade these services; they take up what is held within a minute. `rollcall dead list -o wide` says what it is.',
          )
        : ok('held-events', 'none'),
    eventsUsedPercent === undefined
      ? skipped('events-space', 'the registrar does not say')
      : eventsUsedPercent >= 85
        ? finding(
            'events-space',
            `the place of the events is ${eventsUsedPercent} % full; new requests are refused`,
            'Move old events into a file (`rollcall history archive --to DIR`), make space on the disk of NATS, or raise max_file_store or the max_bytes of stream EVENTS.',
          )
        : ok('events-space', `${eventsUsedPercent} % used`),
    streams.EVENTS === undefined
      ? finding(
          'history',
          'stream EVENTS does not answer',
          'Look at JetStream of the NATS server: its disk, and its leader.',
        )
      : ok('history', `${streams.EVENTS.messages} events`),
    ...troublesOf(side, kubernetes).map(({ check, message, next }) => finding(check, message, next)),
  ];
}
