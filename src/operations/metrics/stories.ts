import { Counter, Gauge, Histogram } from 'prom-client'
import { UNVERIFIED, type VerdictStory } from '../../contracts/facts/verdict-fields.ts'
import type { MetricGroup } from './group.ts'

/** From so many people on a contradiction is a wide one. */
const WIDE_REACH = 10_000

/** Posts that say the same: how many, where their verdicts contradict one another, and which of them nobody has to decide again. */
export const storyMetrics: MetricGroup = (registry, { protocols }) => {
  const posts = new Histogram({
    name: 'gavel_story_posts',
    help: 'Posts of the story of each published verdict on a post that has one.',
    labelNames: ['protocol'],
    buckets: [1, 2, 5, 10, 50, 100, 1_000, 10_000],
    registers: [registry],
  })
  const decided = new Counter({
    name: 'gavel_story_decided_verdicts_total',
    help: 'Published machine verdicts on posts of stories that a person had decided, by whether they have the same label: then nobody decides again.',
    labelNames: ['protocol', 'agrees'],
    registers: [registry],
  })
  const contradictions = new Counter({
    name: 'gavel_story_contradictions_total',
    help: `Published machine verdicts of stories whose verdicts contradict one another and that nobody has decided, by how far these reach: wide from ${WIDE_REACH} people on.`,
    labelNames: ['protocol', 'reach'],
    registers: [registry],
  })
  const [differing, oldest] = [
    ['differing', 'Stories whose verdicts contradict one another, that wait for people.'],
    ['differing_oldest_seconds', 'For how long the oldest of them has waited; 0 if none waits.'],
  ].map(([name, help]) => new Gauge({ name: `gavel_story_${name}`, help: help ?? '', registers: [registry] }))
  for (const { name: protocol } of protocols) {
    for (const reach of ['wide', 'narrow']) contradictions.inc({ protocol, reach }, 0)
    for (const agrees of ['true', 'false']) decided.inc({ protocol, agrees }, 0)
  }
  return {
    'verdict:published': ({ verdict: { protocol, label, story, decidedBy } }) => {
      if (story === undefined) return
      posts.observe({ protocol }, story.members)
      if (decidedBy === 'human') return
      if (story.current !== undefined) decided.inc({ protocol, agrees: String(story.current.label === label) })
      else if (isContradicted(story))
        contradictions.inc({ protocol, reach: story.reach >= WIDE_REACH ? 'wide' : 'narrow' })
    },
    'stories:counted': ({ waiting, since, now }) => {
      differing?.set(waiting)
      oldest?.set(since === null ? 0 : Math.max(0, (now - since) / 1000))
    },
  }
}

function isContradicted({ labels }: VerdictStory): boolean {
  return Object.keys(labels).filter((label) => label !== UNVERIFIED).length > 1
}
