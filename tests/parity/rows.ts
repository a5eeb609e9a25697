/** Something that a person has when clusters are registered. */
export interface ParityRow {
  /** Stands in brackets at the end of the title of every test that shows the row: `'… [CN-1]'`. */
  readonly id: string;
  readonly text: string;
  /** Why no test shows it. */
  readonly untested?: string;
}

const row = (id: string, text: string, untested?: string): ParityRow => ({
  id,
  text,
  ...(untested === undefined ? {} : { untested }),
});

/** Every row by the system whose users know it; the README beside is made of it. */
export const parityRows: Readonly<Record<string, readonly ParityRow[]>> = {
  'Clusternet: registration requests and ManagedCluster': [
    row(
      'CN-1',
      'A request that the agent makes by itself (`clsrr`), which says what it waits for and for whom',
    ),
    row(
      'CN-2',
      'Labels for id, name and origin; id, name, type, mode and labels in the spec; one limit for names',
    ),
    row('CN-3', 'The outcome in the status, with namespace and cluster, and without any secret'),
    row(
      'CN-4',
      'A namespace with an account and a role in it and nothing cluster-wide; drift is repaired unless marked',
    ),
    row('CN-5', 'ManagedCluster (`mcls`) with its columns, and more of them with `-o wide`'),
    row('CN-6', 'Address, health, version, platform, nodes, capacity and networks of the member'),
    row('CN-7', 'Labels that most nodes share become labels of the cluster'),
    row(
      'CN-8',
      "The member's API through the hub, for who has a right to it there and is let in by the member's owner",
    ),
  ],
  'Karmada: join, register, tokens': [
    row('KA-1', "Joining from the hub's side with the member's kubeconfig, and a dry run of it"),
    row('KA-2', 'Unjoining removes what joining made in the member; by force and with a deadline too'),
    row('KA-3', 'The list of clusters, by `rollcall` and by kubectl'),
    row(
      'KA-4',
      'Tokens made with the command to paste, listed and deleted; counted, bound to a name, never shown again',
    ),
    row('KA-5', 'One command on the member registers it: the hub is known by its pin, and each step is told'),
    row('KA-6', 'Unregistering, or deleting the object: the agent is told and removes itself'),
    row('KA-7', 'A namespace for each cluster'),
    row('KA-8', 'Credentials that are short-lived and renewed without interruption'),
    row('KA-9', 'Cordon, and thresholds against flapping; taint policies later'),
  ],
  'Open Cluster Management: ManagedCluster, sets, claims': [
    row('OC-1', 'Both sides opt in; who accepts needs a right of their own, checked in the API server'),
    row('OC-2', 'One decision about one request, and no client certificate'),
    row('OC-3', "A namespace of the cluster's name, and an agent that reaches nothing else"),
    row(
      'OC-4',
      'Conditions for accepted, joined, alive, clock and deletion, each of which kubectl can wait for',
    ),
    row('OC-5', "How others reach the member's API: addresses and CA on the cluster"),
    row(
      'OC-6',
      'Sets by label or selector, with a right to join on the old and the new one, and bound to namespaces, with a right to bind',
    ),
    row('OC-7', 'Claims and properties of the member in the status, with their limits'),
    row('OC-8', 'Denied later, a cluster loses all access and its connection at once'),
  ],
  'registration-operator: installing': [
    row('RO-1', 'One command installs the hub, one the agent, one removes each; the same as Helm charts'),
    row('RO-2', 'All in one cluster, and hub and member apart'),
    row('RO-3', 'A hub whose services run outside its cluster'),
    row('RO-4', 'An agent that runs outside its member'),
    row('RO-5', 'A bootstrap Secret in the member: a changed hub registers again'),
    row('RO-6', 'Whether the agent is connected, and why not, is readable in the member'),
  ],
  'Rancher Fleet: registration by agent and by manager': [
    row('FL-1', 'A token whose Secret is a ready file of Helm values'),
    row('FL-2', 'An agent chart with values, labels and client id'),
    row('FL-3', 'Labels given at registration, as far as the token allows; the rest is dropped and named'),
    row('FL-4', 'Clusters made beforehand by client id; without one the id is the UID of kube-system'),
    row(
      'FL-5',
      'A cluster and its kubeconfig Secret are enough: the hub installs the agent, or does without',
    ),
    row(
      'FL-6',
      'The agent forgets the token; its own key renews, and another registration needs another token',
    ),
    row('FL-7', 'When a cluster was last seen, and Ready only while it is'),
    row('FL-8', 'Tokens always end, and are deleted after that'),
    row('FL-9', 'How many nodes there are and how many are ready, with the name of one'),
  ],
  'None of them': [
    row(
      'X-1',
      'Approval by policy: checked when applied, explained in every decision, tried on past requests',
    ),
    row('X-2', 'The whole story of a cluster as one stream to follow, filter and replay'),
    row('X-3', 'Few writes for a join, and none while nothing changes'),
    row('X-4', 'A dead agent is noticed in seconds; agent, network, member API and hub are told apart'),
    row(
      'X-5',
      'No secret on the bus or in a status; tokens counted and bound; who is revoked is cut and stays out',
    ),
    row('X-6', 'A million clusters on one hub', 'by figures, not by a test: [scale.md](../../docs/scale.md)'),
    row('X-7', 'Registering again, restoring the hub and moving it without touching Secrets by hand'),
    row('X-8', 'A deletion that both sides acknowledge, with a deadline and a force'),
    row('X-9', 'Standard `ClusterProfile` objects for other tools'),
    row('X-10', 'Metrics and traces of registration and liveness'),
    row(
      'X-11',
      'The fleet as it was at any past moment, on the page and in the command line, from the history',
    ),
    row(
      'X-12',
      'A page that needs no rights of its own: live wall, inbox with reasons, policies tried on the past before they are written',
    ),
    row(
      'X-13',
      'The API of any member through the hub over the connection that its agent has, by the RBAC of the hub; no port opened, no credential of the member on the hub',
    ),
    row(
      'X-14',
      'Rights of each role by an account of its own: what a stolen identity cannot do, the server refuses, whatever reply it names',
    ),
  ],
};
