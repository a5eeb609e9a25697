import { inTurn, type World } from './world.ts';

/** As much as a service asks for at a time, and how much it has asked for before the first came. */
const chunk = 250;
const chunksAhead = 4;
/** A million subjects, of eight a cluster: beyond, messages are read in their order (ADR 17). */
const fewClusters = 125_000;
/** Of a process until it has its connection (0.69 s with 1,000 clusters, of which it reads 0.2). */
const startMs = 500;

/** A heartbeat service reads of every cluster of its part what stands of it. @param then - when it is ready */
export function startHeartbeatService(world: World, then: () => void): void {
  const { clusters, numbers, nats, of, timeline } = world;
  const [leader] = nats;
  const [service] = of.heartbeat;
  if (!leader || !service) return;
  const isMany = clusters > fewClusters;
  const serverUs = isMany ? numbers.natsReadManyUs : numbers.natsReadUs;
  const serviceUs = isMany ? numbers.heartbeatReadManyUs : numbers.heartbeatReadUs;
  // Beyond a million subjects a part is given everything, and passes over what belongs to others.
  const ownShare = 1 / numbers.heartbeatParts;
  const given = isMany ? clusters : clusters * ownShare;
  const workShare = isMany ? ownShare + (1 - ownShare) * numbers.passedOverShare : 1;
  const chunks = Math.ceil(given / chunk);
  let [asked, taken] = [0, 0];

  function ask(): void {
    if (asked >= chunks || !leader || !service) return;
    asked++;
    leader.submit((serverUs * chunk) / 1000, {
      whenOver: () =>
        service.submit((serviceUs * chunk * workShare) / 1000, {
          whenOver: () => {
            taken++;
            ask();
            if (taken === chunks) then();
          },
        }),
    });
  }
  timeline.after(startMs, () => {
    for (let ahead = 0; ahead < chunksAhead; ahead++) ask();
  });
}

/** A projector compares everything: first it takes the list of all objects, then cluster by cluster. */
export function startProjector(world: World, then: () => void): void {
  const { clusters, numbers, nats, of, api, timeline } = world;
  const [leader] = nats;
  const [projector] = of.projector;
  if (!leader || !projector) return;
  const shown = numbers.showsAll > 0 ? clusters : clusters * numbers.exceptionShare;
  const list = (next: () => void) => api.submit((numbers.apiListUs * 2 * chunk) / 1000, { whenOver: next });
  const compare = (next: () => void) =>
    leader.submit((numbers.natsReadUs * chunk) / 1000, {
      whenOver: () => projector.submit((numbers.projectorReadUs * chunk) / 1000, { whenOver: next }),
    });
  timeline.after(startMs, () =>
    inTurn(Math.ceil(shown / chunk), list, () => inTurn(Math.ceil(clusters / chunk), compare, then)),
  );
}
