import { isBlank } from '../../contracts/facts/blank.ts'
import { entryOf } from '../../contracts/facts/entry-of.ts'
import type { ReadingGuide } from '../../contracts/facts/reading.ts'
import { hasMedia, snapshot } from '../../contracts/facts/thread.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { citable, citingForm } from '../clauses.ts'
import { withClips } from '../clips.ts'
import { both } from '../faults.ts'
import type { ProtocolKind } from '../kind.ts'
import { readPolicies } from '../policies.ts'
import { readPrompts } from '../prompts.ts'
import { shortHash } from '../short-hash.ts'
import { FilterRefusals, withheldIfFiltered } from '../truncation.ts'
import { CURATOR_PROMPTS, safetyCuration } from './curation.ts'
import { SAFETY_PROMPTS } from './questions.ts'
import { aetheria, mostCalls } from './script.ts'
import { isByCode, readSafetySettings, SHIPPED_POLICY, safetySettings } from './settings.ts'

/** Raise this whenever the script's rounds or its asks change shape. */
const VERSION = 7

/** Aetheria (content safety of posts and their images) as a protocol of the engine. */
export const safety: ProtocolKind = {
  name: 'safety',
  labels: { harmful: 'unsafe', harmless: 'safe' },
  reading: {
    labels: { unsafe: 'A concrete harm was found in it.', safe: 'No concrete harm was found in it.' },
    rules: {
      exoneration: 'There is no sign of risk, or a harmless context outweighs it.',
      confirmation: 'A concrete violation was pointed out, or is plain in the post.',
      'default-safe': 'It stayed unclear: neither harm nor a harmless context prevailed. It counts as safe then.',
    },
    tells(scores) {
      const said = (['strict', 'loose', 'final'] as const).flatMap((who) => {
        const risk = entryOf(scores, who)
        return risk === undefined ? [] : [`${who === 'final' ? 'the arbiter' : `the ${who} debater`} ${risk}`]
      })
      return said.length === 0 ? [] : [`Risk from 0 (none) to 1 (grave), at last: ${said.join(', ')}.`]
    },
    debate: {
      sides: [
        { speaker: 'strict', title: 'Strict: at its worst' },
        { speaker: 'loose', title: 'Loose: at its best' },
      ],
      stages: ['strict', 'loose'],
    },
    judge: 'arbitrate',
    disturbing: ['unsafe'],
  } satisfies ReadingGuide,
  roles: ['describer', 'supporter', 'strict', 'loose', 'arbiter', 'curator'],
  mayHaveLane: true,
  folders: ['policies'],
  settings: safetySettings.schema,
  paperModels: {
    roles: {
      describer: 'gpt-4.1',
      supporter: 'gpt-4o-mini',
      strict: 'gpt-4o-mini',
      loose: 'gpt-4o-mini',
      arbiter: 'gpt-4o',
      curator: 'gpt-4o',
    },
  },
  savings: safetySettings.savings,
  setByPaper: safetySettings.setByPaper,
  gates: {
    ways: {
      'arbiter alone': { debateWhen: 'never' },
      contested: { debateWhen: 'contested', controlShare: 0 },
      always: { debateWhen: 'always' },
    },
    beside: {},
  },
  ablations: {
    'without retrieval': { retrieval: false },
    'without supporter': { supporter: false },
    // The arbiter rules alone as shipped: these rows tell what the debate's parts would bring.
    'debate where contested': { debateWhen: 'contested' },
    'debate without loose debater': { debateWhen: 'contested', loose: false },
    'debate without strict debater': { debateWhen: 'contested', strict: false },
    'debate of one round': { debateWhen: 'contested', rounds: 1 },
    'debate of three rounds': { debateWhen: 'contested', rounds: 3 },
    'debate whatever the scores': { debateWhen: 'always' },
    // What the row measures is a label without the images.
    'without images': { images: false, unseen: 'judged' },
    'all large models': { models: 'all-large' },
    'all small models': { models: 'all-small' },
    'brief also without precedents': { brief: 'always' },
  },
  policyQuestions(given: unknown) {
    const { rounds, cites, strict, loose } = readSafetySettings(given)
    return [
      { role: 'supporter', least: 0, most: 1 },
      { role: 'strict', least: Number(strict), most: Number(strict) * rounds },
      { role: 'loose', least: Number(loose), most: Number(loose) * rounds },
      // It may be asked once more for the clauses.
      { role: 'arbiter', least: 1, most: 1 + Number(cites) },
    ]
  },
  /** A verdict before schema 2 has a risk score alone, which does not tell how sure the arbiter was. */
  confidence: () => null,
  /** At their last words the debaters stand on two sides of an even risk. */
  contested: ({ scores: { strict, loose } }) =>
    strict !== undefined && loose !== undefined && strict > 0.5 !== loose > 0.5,
  make({ settings: given, prompts: files, fence, samplingRank, files: folder }) {
    const settings = readSafetySettings(given)
    const { policies: named, cites } = settings
    const [prompts, policies] = both(
      () => readPrompts(files, SAFETY_PROMPTS, settings.preset, isByCode(settings)),
      () => readPolicies(folder('policies'), named, { protocol: 'safety', shipped: SHIPPED_POLICY }),
    )
    const inForce = new Map(
      policies.list.map((policy) => [policy, { policy, citing: cites ? citingForm(policy) : undefined }]),
    )
    const protocol: Protocol = {
      name: 'safety',
      version: VERSION,
      stages: ['describe', 'retrieve', 'brief', 'strict', 'loose', 'arbitrate', 'cite'],
      subject: 'post',
      lateCost: 4,
      accepts: (post) => post.hateSpeech === undefined && (!isBlank(post.text) || hasMedia(post)),
      mostCalls: (post) => mostCalls(withClips(post), settings),
      paper: { calls: 6, depth: 6, of: 'Aetheria: text, two rounds' },
      faithful: settings.preset === 'paper',
      hears: ['strict', 'loose', 'arbitrate', 'cite'],
      labels: ['unsafe', 'safe'],
      policyFor(tenant) {
        const policy = policies.for(tenant)
        return policy && citable(policy, 'unsafe')
      },
      decides: ['arbiter'],
      shelves: settings.supporter && settings.retrieval ? [settings.shelf] : [],
      learns: settings.shelf,
      promptsHash: named.length === 0 ? prompts.hash : shortHash([prompts.hash, policies.hash]),
      // Draws affect what is asked: workers with another key have other settings.
      settingsHash: shortHash([settings, samplingRank('safety', '')]),
      script(subject, _, { tenant } = { overloaded: false }) {
        const refusals = new FilterRefusals()
        const own = policies.for(tenant)
        const policy = (own && inForce.get(own)) ?? null
        const read = snapshot.parse(subject)
        const seen = { ...read, post: withClips(read.post) }
        const script = aetheria(seen, { settings, policy, prompts, fence, samplingRank, refusals })
        return settings.unseen === 'judged' ? script : withheldIfFiltered(script, 'unsafe', refusals)
      },
    }
    return protocol
  },
  curation: ({ fence, prompts, preset }) =>
    safetyCuration({ fence, preset, prompts: readPrompts(prompts, CURATOR_PROMPTS, preset) }),
}
