/**
 * What each subject of the table is for, in words, for docs/security/permissions.md. The first that fits counts. A right for
 * which nobody can say this is one too many: the generator stops at it.
 */
const purposes: readonly (readonly [RegExp, { publish?: string; subscribe?: string }])[] = [
  [/^rollcall\.heartbeat(?:-partition)?\.(?:\*\.)?_loopback$/, { publish: 'checks that it still receives' }],
  [/^rollcall\.request\..+\.join$/, { publish: 'asks to join, or whether it is in by now' }],
  [/^rollcall\.request\..+\.renew$/, { publish: 'asks for its next credentials' }],
  [/^rollcall\.request\..+\.facts$/, { publish: 'tells what its cluster is like' }],
  [
    /^rollcall\.request\..+\.access$/,
    { publish: 'asks for access to the hub’s API server, sealed to its own key' },
  ],
  [/^rollcall\.request\..+\.leave$/, { publish: 'says that it leaves, or that it has cleaned up' }],
  [/^rollcall\.request\..+\.rotate$/, { publish: 'asks to go on under a new key of its own' }],
  [/^rollcall\.request\.\*\.\*$/, { subscribe: 'hears what agents ask' }],
  [/^rollcall\.reply\.\*/, { publish: 'answers agents' }],
  [/^rollcall\.reply\./, { subscribe: 'hears replies to itself' }],
  [
    /^rollcall\.heartbeat-partition\./,
    { publish: 'sends heartbeats, where a hub spreads them over partitions', subscribe: 'hears heartbeats' },
  ],
  [
    /^rollcall\.heartbeat\./,
    { publish: 'sends heartbeats of its own cluster', subscribe: 'hears heartbeats' },
  ],
  [
    /^rollcall\.tunnel\.open\./,
    {
      publish: 'opens a stream to the API of a member',
      subscribe: 'hears that somebody asks the API of its own member',
    },
  ],
  [
    /^rollcall\.tunnel\.down\./,
    { publish: 'carries requests to a member', subscribe: 'hears the streams of its own cluster' },
  ],
  [
    /^rollcall\.tunnel\.up\./,
    { publish: 'answers on the streams of its own cluster', subscribe: 'hears what members answer' },
  ],
  [/^rollcall\.events\.>$/, { publish: 'puts back what a backup has' }],
  [/^rollcall\.stored\./, { subscribe: 'hears what the stream has stored, with its sequence' }],
  [/^rollcall\.stored-facts\./, { subscribe: 'hears new facts' }],
  [
    /^rollcall\.history\.read$/,
    { publish: 'asks for a page of the history', subscribe: 'is asked for pages of the history' },
  ],
  [/^rollcall\.events\./, { publish: 'writes its own events' }],
  [/^rollcall\.facts\./, { publish: 'keeps the facts of a cluster' }],
  [
    /^rollcall\.live\./,
    { publish: 'tells what it hears at once; not stored', subscribe: 'watches liveness' },
  ],
  [
    /^rollcall\.access\.mint$/,
    { publish: 'passes on an agent’s signed request for access', subscribe: 'hears such requests' },
  ],
  [
    /^rollcall\.flood\.heard\./,
    { publish: 'says that an agent floods', subscribe: 'hears whose connections to end, and to refuse' },
  ],
  [
    /^rollcall\.flood\.cut\./,
    { publish: 'says that the connections of a flooder were ended', subscribe: 'hears which cluster it was' },
  ],
  [/^rollcall\.dead\./, { publish: 'keeps a copy of what it cannot handle' }],
  [/^rollcall\.held\./, { publish: 'notes what it puts aside for a newer version' }],
  [
    /^rollcall\.liveness\.youngest$/,
    {
      publish: 'asks its replicas for their youngest heartbeats',
      subscribe: 'is asked for its youngest heartbeats',
    },
  ],
  [
    /^rollcall\.liveness\.clusters$/,
    { publish: 'asks which clusters are heard now', subscribe: 'is asked which clusters it hears' },
  ],
  [
    /^rollcall\.sys\.jetstream$/,
    { publish: 'asks whether the server acknowledges only what it has written' },
  ],
  [/^rollcall\.sys\.witness$/, { publish: 'asks which event the history had come to' }],
  [
    /^rollcall\.history\.witnessed$/,
    {
      publish: 'says which event Kubernetes shows that the history does not have',
      subscribe: 'hears which event the history should have',
    },
  ],
  [/^rollcall\.sys\.health$/, { publish: 'asks whether the servers can write' }],
  [/^rollcall\.sys\.(dis)?connected$/, { subscribe: 'hears that an agent’s connection came or went' }],
  [/^_R_\.>$/, { publish: 'answers what other accounts asked it' }],
  [/^_INBOX_/, { publish: 'answers its own replicas', subscribe: 'its own inbox' }],
  [/^\$SRV\.>$/, { publish: 'asks services how they are', subscribe: 'is asked how it is' }],
  [/^\$JS\.API\.INFO$/, { publish: 'asks what JetStream is there' }],
  [/^\$JS\.(hub\.)?API\.STREAM\.INFO\./, { publish: 'how large the stream is' }],
  [/^\$JS\.hub\.API\.DIRECT\.GET\./, { publish: 'reads the stream without a consumer' }],
  [/^\$JS\.(hub\.)?API\.CONSUMER\.INFO\.EVENTS\./, { publish: 'how far a service is' }],
  [/^\$JS\.hub\.API\.CONSUMER\.MSG\.NEXT\.EVENTS\./, { publish: 'fetches from its own consumer' }],
  [/^\$JS\.ACK\.EVENTS\.[^*]/, { publish: 'acknowledges what its own consumer gave it' }],
  [
    /^\$JS\.hub\.API\.STREAM\.MSG\.DELETE\.EVENTS$/,
    { publish: 'deletes events that an archive has, one by one' },
  ],
  [
    /^\$JS\.hub\.API\.CONSUMER\.DELETE\./,
    { publish: 'makes room for consumers that go on where the backup was' },
  ],
  [
    /^\$JS\.API\.(STREAM|CONSUMER)\./,
    { publish: 'makes and updates the streams and consumers; deletes none' },
  ],
  [/^\$SYS\.REQ\.USER\.AUTH$/, { subscribe: 'is asked by the server whom to let in' }],
  [
    /^\$SYS\.REQ\.CLAIMS\.UPDATE$/,
    { publish: 'pushes the account AGENTS with its revocations, and the witness of the history' },
  ],
  [/^\$SYS\.REQ\.ACCOUNT\.\*\.CLAIMS\.LOOKUP$/, { publish: 'reads the accounts that are stored' }],
  [/^\$SYS\.REQ\.SERVER\.PING\.ACCOUNTZ$/, { publish: 'sees what every server acts on' }],
  [/^rollcall\.sys\.connections$/, { publish: 'sees who is connected' }],
  [/^\$SYS\.REQ\.SERVER\.\*\.STATSZ$/, { publish: 'sees which servers there are' }],
  [/^\$SYS\.REQ\.SERVER\.\*\.KICK$/, { publish: 'ends connections of a key that is out' }],
];

/** @throws Error for a subject of which nobody has said what it is for: say it above */
export function purposeOf(subject: string, verb: 'publish' | 'subscribe'): string {
  const [, words] = purposes.find(([pattern]) => pattern.test(subject)) ?? [];
  const purpose = words?.[verb];
  if (purpose === undefined) {
    throw new Error(
      `nobody says what it is for to ${verb} "${subject}" (libs/shared/rights/subject-purpose.ts)`,
    );
  }
  return purpose;
}
