import type { ReadingGuide } from '../../contracts/facts/reading.ts'
import { snapshot } from '../../contracts/facts/thread.ts'
import type { RulingSource } from '../../contracts/facts/verdict.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { citable, citingForm } from '../clauses.ts'
import { withClips } from '../clips.ts'
import { both } from '../faults.ts'
import { wordsOf } from '../image-descriptions.ts'
import type { AnsweredTurn, ConfidenceBasis, ProtocolParts } from '../kind.ts'
import { answersBySpeaker } from '../per-speaker-answers.ts'
import { readPolicies } from '../policies.ts'
import type { Policy } from '../policy.ts'
import { readPrompts } from '../prompts.ts'
import { shortHash } from '../short-hash.ts'
import { FilterRefusals, withheldIfFiltered } from '../truncation.ts'
import { labelIn, nthIn } from './answers.ts'
import { checkExamplesAlone, shelvesOf } from './examples.ts'
import { meaningsOf, type Perspective, readPerspectives, underPolicy } from './perspectives.ts'
import { HATE_PROMPTS } from './questions.ts'
import { mostCalls, predict } from './script.ts'
import { type HateSettings, hateSettings, readHateSettings, rulesAlone, SHIPPED_POLICY } from './settings.ts'
import { mostStanceCalls, stanceCalls } from './stances.ts'

/** Raise this whenever the script's rounds or its asks change shape. */
const VERSION = 8

/** PREDICT (hate speech, seen from several perspectives) as a protocol of the engine. */
export const hate = {
  name: 'hate',
  labels: { harmful: 'hate', harmless: 'non-hate' },
  reading: {
    labels: {
      hate: 'It attacks people for a group that they belong to.',
      'non-hate': 'It attacks nobody for a group that they belong to.',
    },
    tells: ({ hate = 0, nonHate = 0 }) =>
      hate + nonHate === 0
        ? []
        : [`Of ${hate + nonHate} perspectives that took a side, ${hate} ${hate === 1 ? 'finds' : 'find'} it hateful.`],
    debate: {
      sides: [
        { speaker: 'non-hate', title: 'It is not hateful' },
        { speaker: 'hate', title: 'It is hateful' },
      ],
      stages: ['debate'],
    },
    judge: 'judge',
    voices: 'perspective',
    disturbing: ['hate'],
  } satisfies ReadingGuide,
  roles: ['perspective', 'debater', 'judge'],
  mayHaveLane: true,
  folders: ['perspectives', 'policies'],
  settings: hateSettings.schema,
  paperModels: {
    roles: { perspective: 'gpt-3.5-turbo-0125', debater: 'gpt-3.5-turbo-0125', judge: 'gpt-3.5-turbo-0125' },
    embedder: 'text-embedding-ada-002',
  },
  savings: hateSettings.savings,
  setByPaper: hateSettings.setByPaper,
  gates: {
    ways: {
      // Perspectives that are listed are asked in the other two.
      'judge alone': { decide: 'debate', debateWhen: 'never', perspectives: [] },
      contested: { decide: 'debate', debateWhen: 'contested', controlShare: 0 },
      always: { decide: 'debate', debateWhen: 'always' },
    },
    beside: { 'majority of the perspectives': { decide: 'majority' }, 'zero-shot': { decide: 'zero-shot' } },
  },
  ablations: {
    'majority of the perspectives': { decide: 'majority' },
    'base agent': { decide: 'zero-shot' },
    // The judge decides alone as shipped: these rows tell what perspectives and their debate would bring.
    'debate where contested': { debateWhen: 'contested' },
    'debate of one round': { debateWhen: 'contested', rounds: 1 },
    'debate by criteria alone': { debateWhen: 'contested', show: 'criteria' },
    'debate by examples alone': { debateWhen: 'contested', show: 'examples' },
    'debate also where all agree': { debateWhen: 'always' },
    'debate without a way out': { debateWhen: 'contested', exits: false },
  },
  /**
   * Of a verdict before schema 2: where perspectives decided, the share of those on its side among all that took one. A judge's
   * label is not theirs.
   */
  confidence({ label, decidedBy, scores: { hate = 0, nonHate = 0 } }: ConfidenceBasis) {
    const theirs = decidedBy === 'consensus' || decidedBy === 'majority'
    if (label === null || !theirs || hate + nonHate === 0) return null
    return (label === 'hate' ? hate : nonHate) / (hate + nonHate)
  },
  confidenceFrom: 'perspectives',
  policyQuestions(given: unknown) {
    const settings = readHateSettings(given)
    const { perspectives, decide, rounds, cites } = settings
    if (rulesAlone(settings)) return [{ role: 'judge', least: 1, most: 1 + Number(cites) }]
    if (decide === 'zero-shot') return []
    const stances = mostStanceCalls(settings, perspectives.length)
    // Whoever decides may be asked once more for the clauses.
    const [votes, debate] = decide === 'majority' ? [cites ? perspectives.length : 0, 0] : [0, 1]
    return [
      { role: 'perspective', least: stanceCalls(settings, perspectives.length), most: stances + votes },
      { role: 'debater', least: 0, most: 2 * rounds * debate },
      { role: 'judge', least: 0, most: (1 + Number(cites)) * debate },
    ]
  },
  votes: ({ scores: { hate = 0, nonHate = 0 } }: ConfidenceBasis) => [hate, nonHate],
  voices: (turns: readonly AnsweredTurn[]) =>
    answersBySpeaker(turns, 'perspective', labelIn, (answer, nth) => labelIn(nthIn(answer, nth))),
  make({ settings: given, prompts: files, fence, samplingRank, files: folder }: ProtocolParts) {
    const settings = readHateSettings(given)
    const { policies: named } = settings
    const [prompts, [perspectives, policies]] = both(
      () => readPrompts(files, HATE_PROMPTS, settings.preset),
      () =>
        both(
          () => readPerspectives(folder('perspectives'), settings.perspectives, named.length > 0),
          () => readPolicies(folder('policies'), named, { protocol: 'hate', shipped: SHIPPED_POLICY }),
        ),
    )
    checkExamplesAlone(perspectives.list, settings)
    const judgedBy = new Map(policies.list.map((policy) => [policy, inForce(policy, perspectives.list, settings)]))
    const protocol: Protocol = {
      name: 'hate',
      version: VERSION,
      stages: ['retrieve', 'perspective', 'debate', 'judge', 'cite'],
      subject: 'post',
      lateCost: 2,
      accepts: (post) => post.hateSpeech === undefined && wordsOf(withClips(post)) !== '',
      mostCalls: () => mostCalls(settings, perspectives.list.length),
      paper: { calls: 10, depth: 6, of: 'PREDICT: five perspectives, two rounds, judge' },
      faithful: settings.preset === 'paper',
      hears: ['debate', 'judge', 'cite'],
      labels: ['hate', 'non-hate'],
      policyFor(tenant) {
        const policy = policies.for(tenant)
        return policy && citable(policy, 'hate')
      },
      decides: decidesIn(settings),
      shelves: shelvesOf(perspectives.list, settings),
      shelfLabels: perspectives.shelfLabels,
      meanings: meaningsOf(perspectives.list),
      promptsHash: shortHash([prompts.hash, perspectives.hash, ...(named.length === 0 ? [] : [policies.hash])]),
      // Draws affect what is asked: workers with another key have other settings.
      settingsHash: shortHash([settings, samplingRank('hate', '')]),
      script(subject, _, { tenant, appealed = false } = { overloaded: false }) {
        const refusals = new FilterRefusals()
        const policy = policies.for(tenant)
        const by = (policy && judgedBy.get(policy)) ?? { policy: null, perspectives: perspectives.list }
        const parts = { settings, ...by, prompts, fence, samplingRank, refusals, appealed }
        const read = snapshot.parse(subject)
        const script = predict({ ...read, post: withClips(read.post) }, parts)
        return settings.unheard === 'judged' ? script : withheldIfFiltered(script, 'hate', refusals)
      },
    }
    return protocol
  },
}

/** A policy, and the perspectives as they judge by it. */
function inForce(policy: Policy, list: readonly Perspective[], { cites }: HateSettings) {
  const citing = cites ? citingForm(policy) : undefined
  return { policy: { policy, citing }, perspectives: list.map((one) => underPolicy(one, citing)) }
}

function decidesIn({ decide, debateWhen }: HateSettings): readonly RulingSource[] {
  if (decide === 'majority') return ['majority']
  return decide === 'debate' && debateWhen === 'contested' ? ['consensus', 'judge'] : ['judge']
}
