import { stepOf } from '../../contracts/facts/overload.ts'
import type { ReadingGuide } from '../../contracts/facts/reading.ts'
import { snapshot } from '../../contracts/facts/thread.ts'
import type { Protocol } from '../../judging/engine/script.ts'
import { withClips } from '../clips.ts'
import { DECISION_FOLDER, decisionPrompt } from '../decision-prompt.ts'
import type { ConfidenceBasis, ProtocolParts } from '../kind.ts'
import { readPrompts } from '../prompts.ts'
import { shortHash } from '../short-hash.ts'
import { rumorCarry, withoutComments } from './carry.ts'
import { readAhead, sameWordsKey } from './near-identical.ts'
import { RUMOR_PROMPTS } from './questions.ts'
import { mostCalls, s2mad } from './script.ts'
import { rumorSettings } from './settings.ts'
import { storyWords } from './story-words.ts'

/** Raise this whenever the script's rounds, its asks or its carry change shape. */
const VERSION = 7

/** S2MAD (rumors in breaking events) as a protocol of the engine. */
export const rumor = {
  name: 'rumor',
  labels: { harmful: 'rumor', harmless: 'non-rumor' },
  reading: {
    labels: {
      rumor: 'Taken for a rumor: what it says seems unfounded.',
      'non-rumor': 'Not taken for a rumor. That does not make it true.',
      unverified: 'Not decided: too few people said anything either way, or what they said shows neither.',
    },
    tells: ({ support = 0, oppose = 0 }, label) => [
      support + oppose === 0
        ? 'None of its comments takes a side: none of them speaks for any label.'
        : `Of its comments, ${support} ${support === 1 ? 'supports' : 'support'} what it says and ${oppose} ${oppose === 1 ? 'opposes' : 'oppose'} it.`,
      ...((label === 'rumor' && support > oppose) || (label === 'non-rumor' && oppose > support)
        ? ['The label goes against that count: the argument says why.']
        : []),
    ],
    debate: {
      sides: [
        { speaker: 'support', title: 'From the comments that support it' },
        { speaker: 'oppose', title: 'From the comments that oppose it' },
      ],
      stages: ['opinion', 'debate'],
      opening: 'opinion',
      showsComments: true,
      counts: ['support', 'oppose'],
    },
    judge: 'judge',
    comments: 'stance',
  } satisfies ReadingGuide,
  roles: ['scorer', 'debater', 'judge'],
  settings: rumorSettings.schema,
  paperModels: { roles: { scorer: 'glm-3-turbo', debater: 'gpt-3.5-turbo', judge: 'gpt-3.5-turbo' } },
  savings: rumorSettings.savings,
  setByPaper: rumorSettings.setByPaper,
  gates: {
    ways: { contested: { debateWhen: 'contested', controlShare: 0 }, always: { debateWhen: 'always' } },
    beside: {},
  },
  ablations: {
    'without stance': { stance: false },
    'prompts for objective claims alone': { promptKind: 'objective' },
    'prompts for subjective claims alone': { promptKind: 'subjective' },
    'opinions and judge, no debate': { rounds: 0 },
    'one round of debate': { rounds: 1 },
    'one agent, no debate': { debate: false },
    'debate whatever the comments say': { debateWhen: 'always' },
    'one opinion instead of unverified': { unverified: false },
    'one prompt over all comments': { decide: 'vanilla' },
  },
  /** A verdict before schema 2 does not say. */
  confidence: () => null,
  /** A judge was asked: the debaters never agreed. Where one agent alone gave an opinion, nobody differed. */
  contested: ({ decidedBy, models }: ConfidenceBasis) => decidedBy === 'judge' && 'judge' in models,
  sameWordsKey,
  storyWords,
  make({ settings: given, prompts: files, files: folder, fence, samplingRank }: ProtocolParts) {
    const settings = rumorSettings.parse(given)
    const prompts = readPrompts(files, RUMOR_PROMPTS, settings.preset)
    const decided = settings.stancesBy === 'decider' ? decisionPrompt(folder(DECISION_FOLDER), 'stance') : undefined
    const promptsHash = decided === undefined ? prompts.hash : shortHash([prompts.hash, decided.hash])
    // Draws affect what is asked: workers with another key have other settings.
    // What 0.2.0 did not have changes nothing of what is stored while it is not set.
    const { elsewhere, stancesBy, ...others } = settings
    const since = { ...(elsewhere ? { elsewhere } : {}), ...(stancesBy === 'scorer' ? {} : { stancesBy }) }
    const settingsHash = shortHash([{ ...others, ...since }, samplingRank('rumor', '')])
    const under = `${VERSION} ${promptsHash} ${settingsHash}`
    const protocol: Protocol = {
      name: 'rumor',
      version: VERSION,
      stages: ['stance', 'subjectivity', 'opinion', 'debate', 'judge'],
      subject: 'thread',
      lateCost: 2,
      accepts: () => true,
      mostCalls: (_, comments) => mostCalls(settings, comments),
      paper: { calls: 47, depth: 5, of: 'S2MAD: 40 comments, two rounds, no judge' },
      faithful: settings.preset === 'paper',
      hears: ['opinion', 'debate', 'judge'],
      labels: ['rumor', 'non-rumor', ...(settings.unverified ? ['unverified'] : [])],
      decides: ['consensus', 'judge', 'single', ...(settings.unverified ? (['scores'] as const) : [])],
      meanings: { fake: 'rumor', real: 'non-rumor' },
      promptsHash,
      settingsHash,
      ...(elsewhere ? { elsewhere } : {}),
      withoutComments,
      *prepare(subject) {
        const { comments, elsewhere: others = [] } = snapshot.parse(subject)
        const answered = new Set(settings.parents ? comments.map(({ parentId }) => parentId) : [])
        for (const { id, text } of comments) {
          fence.unread('comment', text)
          if (settings.foldNearIdentical) readAhead(text)
          if (answered.has(id)) fence.unread('parent', text)
          yield text.length
        }
        for (const { text } of settings.elsewhere ? others : []) {
          fence.unread('comment', text)
          yield text.length
        }
      },
      script: (subject, carry, context) => {
        const read = rumorCarry.safeParse(carry)
        const before = read.success && read.data.under === under ? read.data : null
        const thread = snapshot.parse(subject)
        return s2mad({ ...thread, post: withClips(thread.post) }, before, {
          settings,
          prompts,
          decided,
          fence,
          samplingRank,
          under,
          step: context === undefined ? 0 : stepOf(context),
          final: context?.final === true,
          tenant: context?.tenant ?? '',
          appealed: context?.appealed === true,
        })
      },
    }
    return protocol
  },
}
