import { errorCatalogue, isErrorCode } from '@rollcall/shared/errors';
import { shellWord } from '@rollcall/shared/hub';
import type { ClusterDescription } from './cluster-description.ts';

function hintOf(code: string | undefined): string[] {
  return code !== undefined && isErrorCode(code) ? [errorCatalogue[code].hint] : [];
}

/** Of what only Kubernetes says, where the bus cannot be asked. */
const lookThere = (id: string) =>
  `\`rollcall get requests ${id} -o yaml\` shows what the hub says of it; what happened stands in the history, which cannot be read now: \`rollcall doctor\` says why.`;
const look = (name: string) => `\`rollcall events --cluster ${name} --follow\` shows what happens.`;

const doesItReachTheHub =
  'Whether the agent reaches the hub, conditions Connected and Registered of its Deployment say: `kubectl --namespace rollcall-agent describe deployment rollcall-agent` in the member. Of one in a terminal: `rollcall doctor --agent-state-dir DIRECTORY --hub HOST:PORT`.';

/** What to do, by where the cluster stands; every line is a whole sentence. */
export function nextSteps(description: ClusterDescription): string[] {
  const { clusterName: name, phase, request, namespace, clientId, conditions } = description;
  const known = description.credentials.keyFingerprint;
  const isOther = request !== undefined && known !== undefined && known !== request.keyFingerprint;
  const broken = namespace?.problem === undefined ? [] : hintOf(namespace.problem.split(':', 1)[0]);
  const isBlind = description.missing.some(({ source }) => source === 'history');
  const steps: Readonly<Record<string, readonly string[]>> = {
    waiting: ['The approver has not judged this request yet: `rollcall status` says whether it works.'],
    pending: ['The approver has not judged this request yet: `rollcall status` says whether it works.'],
    refused: [...hintOf(request?.refusal?.code), 'Correct it at the member; its agent asks again.'],
    held: [
      `\`rollcall policy explain ${name}\` says why no policy let it in.`,
      `Compare the key ${request?.keyFingerprint ?? ''} with what the agent prints; then \`rollcall approve ${name}${isOther ? ` --replace-key ${request.keyFingerprint}` : ''}\` or \`rollcall deny ${name}\`.`,
    ],
    failed: [
      // The hub's own words, with what to do about it.
      ...(description.shown ? [`${description.shown.reason}: ${description.shown.message}`] : []),
      ...(isBlind ? [lookThere(description.clusterId)] : [look(name)]),
    ],
    denied: [`If that is not what you want: \`rollcall approve ${name}\`.`],
    revoked: [`The cluster may ask again with a new key; \`rollcall approve ${name}\` lets it in again.`],
    banned: [`A banned cluster cannot ask: \`rollcall unban ${name}\` takes the ban back.`],
    leaving: ['The hub is taking its access away.', look(name)],
    left: ['A new token lets it ask again: `rollcall token create`.'],
    predefined: [
      ...conditions
        .filter(({ type, reason }) => type === 'Accepted' && reason === 'IdMismatch')
        .map(({ message }) => `What is changed in its object counts for nothing: ${message}.`),
      ...(request?.refusal
        ? ['Somebody tried to bind to it and was refused.', ...hintOf(request.refusal.code)]
        : []),
      clientId === undefined
        ? `Nobody has claimed it yet: \`rollcall token create --cluster-name ${name} --print-register-command\`.`
        : `Nobody has claimed it yet: \`rollcall token create --client-id ${shellWord(clientId)} --print-register-command\`.`,
    ],
    'without effect': [
      `Another cluster is in its way${conditions.flatMap(({ type, message }) => (type === 'Accepted' ? [`: ${message}`] : [])).join('')}.`,
      'Correct its clientId, clusterId or name, or delete it.',
    ],
    approved: [
      'It is let in, and its agent has not sent a heartbeat yet: look at the log of the agent.',
      doesItReachTheHub,
    ],
    suspect: [`Its connection is gone; Unreachable follows after the grace. ${look(name)}`],
    unreachable: [
      'Look in the member whether the agent runs: `kubectl -n rollcall-agent get pods`.',
      doesItReachTheHub,
    ],
    stopped: ['The agent said goodbye: start it again in the member.'],
    memberDown: [
      "The agent is fine, and the API server of its member does not answer it: look at that one's own health in the member.",
    ],
    flapping: [
      `It came and went too often: look at the network between agent and hub, and whether the agent restarts. \`rollcall events --cluster ${name}\` has each loss.`,
    ],
    ready: ['Nothing to do.'],
  };
  const isClockOff = conditions.some(({ type, status }) => type === 'ClockSynced' && status === 'False');
  const clock = isClockOff ? ['Set the clock of the machine of the agent (NTP): see ClockSynced.'] : [];
  const isShared = conditions.some(
    ({ type, reason }) => type === 'CredentialsValid' && reason === 'KeyInUseTwice',
  );
  const shared = isShared
    ? [
        'Two agents use its key: a cloned member, or a copied key store. Give the copy keys and a token of its own; where you do not know which it is, reinstall the agent where it belongs, and replace the key.',
      ]
    : [];
  const denied =
    phase !== 'denied' && isOther && description.decision?.verdict === 'denied'
      ? [`Another key (${request.keyFingerprint}) asked for this cluster and was denied; the member goes on.`]
      : [];
  return [
    ...broken,
    ...clock,
    ...shared,
    ...denied,
    ...(steps[phase] ?? [isBlind ? lookThere(description.clusterId) : look(name)]),
  ];
}
