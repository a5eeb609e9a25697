/** What became of one object of an installation. */
export interface ObjectNote {
  readonly kind: string;
  readonly name: string;
  readonly outcome: string;
}

/** Of so many of one kind people read the names. */
const mostNamed = 3;

/** A hub is some hundred objects: of a kind with many only their number is said. In the order in which the kinds come first. */
export function countedObjects(objects: readonly ObjectNote[]): string[] {
  const groups = Map.groupBy(objects, ({ kind, outcome }) => `${kind}\n${outcome}`);
  return [...groups.values()].flatMap((group) => {
    const [{ kind, outcome } = { kind: '', outcome: '' }] = group;
    if (group.length > mostNamed) return [`${kind}: ${group.length} ${outcome}`];
    return group.map(({ name }) => `${kind} ${name}: ${outcome}`);
  });
}
