import { hash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { namedSubject } from '../contracts/facts/decision-messages.ts'
import { hmac } from '../contracts/facts/hmac.ts'
import { may } from '../contracts/facts/person-roles.ts'
import { byStory } from '../contracts/facts/story-summary.ts'
import type { ThreadRef } from '../contracts/facts/thread.ts'
import type { CaseworkDesk } from '../contracts/ports/casework.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Embedder } from '../contracts/ports/library.ts'
import type { RecordedRow, RecordReader } from '../contracts/ports/record.ts'
import { leaveTurn } from '../platform/answer-turns.ts'
import type { BlindReviews } from './blind-review.ts'
import { coversOf } from './covers.ts'
import { onceField, SubmittedForms } from './decision-form.ts'
import { type Lists, rowsOf } from './lists.ts'
import { type Page, type PageAnswer, type PageCall, refusal } from './page.ts'
import { STORIES_TEXTS as TEXTS } from './stories-texts.ts'
import { carriedId, html, idOf, link, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

/** The newest verdicts among which is looked, posts of them that are compared, and posts that are shown. */
const [MOST_ROWS, MOST_COMPARED, MOST_SHOWN] = [120, 60, 5]
/** Cosine from which on a post is near at all. */
const NEAR = 0.4
/** Vectors that are kept, of the newest texts. */
const MOST_VECTORS = 1_000
/** How long is waited until the record knows what somebody said, and how often is looked, in ms. */
const [RECORDED_MS, LOOK_MS] = [3_000, 100]

/** What is needed to find near posts, and to keep what people say of them. */
export interface NearParts {
  readonly embedder: Pick<Embedder, 'embed' | 'weakFor'>
  readonly casework: CaseworkDesk
  readonly clock: Clock
  /** Under this pairs are named, so that half of one does not tell of which post the other was. */
  readonly key: () => Promise<string>
  /** Vectors by the hash of their text: a deleted one is not kept here. */
  readonly known: Map<string, Float32Array>
}

type ReadingParts = Lists & {
  readonly record: Pick<RecordReader, 'find' | 'subject' | 'verdict'>
  readonly blinds: BlindReviews
  readonly near?: NearParts | undefined
}

interface OneStory {
  readonly id: string | null
  readonly tenant: string
  readonly rows: readonly RecordedRow[]
}

interface NearSection {
  readonly markup: TemplatePart
  readonly hides: readonly string[]
}

/** Posts that are near a story's in meaning and not in the same words, where somebody asks for them who may decide. */
export async function nearSection(story: OneStory, call: PageCall, parts: ReadingParts): Promise<NearSection> {
  const { near } = parts
  const { id, tenant } = story
  const nothing = { markup: NOTHING, hides: [] }
  if (near === undefined || id === null || !may(call.session.grants, 'decide', tenant)) return nothing
  const to = { id, tenant, near: 'yes' }
  const own = story.rows.find(({ standing, words }) => standing && words !== null)
  const said = own === undefined ? new Map<string, Set<string>>() : await saidOf(own.subject, parts.record)
  const same = [...said.values()].filter((labels) => labels.has('same')).length
  if (!call.query.has('near')) {
    const answered = said.size === 0 ? NOTHING : html`<p>${TEXTS.answered(same, said.size - same)}</p>`
    const markup = section(
      html`${answered}<p><a href="${`${link('/stories/story', to)}#near`}">${TEXTS.lookNear}</a></p>`,
    )
    return { markup, hides: [] }
  }
  const found = await parts.record.find({ tenants: [tenant], standing: true }, MOST_ROWS)
  const open = parts.blinds.openTo(call.session.by, found)
  const others = byStory(open.filter((row) => row.verdict.decidedBy !== 'deleted'))
    .filter((rows) => rows.every(({ verdict, subject }) => verdict.story?.id !== id && !isOf(story, subject)))
    .flatMap((rows) => rows.find((row) => row.words !== null) ?? [])
    .slice(0, MOST_COMPARED)
  const nearest = own === undefined ? [] : await nearestTo(own, others, near, call.signal)
  // The story's own verdicts are on the same page.
  const shown = new Set([...(nearest ?? []), ...story.rows].map(({ verdict }) => verdict.id))
  const hides = found.flatMap(({ verdict }) => (shown.has(verdict.id) ? [] : [verdict.id]))
  const weak = own === undefined ? null : near.embedder.weakFor(own.words ?? '', own.lang ?? undefined)
  const weakOthers = others.filter(
    (row) => near.embedder.weakFor(row.words ?? '', row.lang ?? undefined) !== null,
  ).length
  const [choice, key] = await Promise.all([coversOf(parts.people, call.session.by), near.key()])
  const listed = (nearest ?? []).map(async (row) => {
    const pair = own === undefined ? '' : pairOf(own.subject, row.subject, key)
    return html`<ol class="rows">${await rowsOf([row], parts, { choice, isWhole: false, isDated: true })}</ol>${sayingForm(own, row, { story: to, said: said.get(pair), token: call.session.token })}`
  })
  const none = nearest === null ? TEXTS.nearNot : TEXTS.nearNone
  return {
    markup:
      section(html`<p class="faint">${TEXTS.nearSays}${weak === null ? NOTHING : html` ${TEXTS.nearWeak} ${words(weak, { most: 200 })}.`}${weakOthers === 0 ? NOTHING : ` ${TEXTS.nearWeakOthers(weakOthers, others.length)}`}</p>
${listed.length === 0 ? html`<p>${none}</p>` : await Promise.all(listed)}`),
    hides,
  }
}

function section(inside: TemplatePart): SafeMarkup {
  return html`<section aria-labelledby="near"><h2 id="near">${TEXTS.near}</h2>${inside}</section>`
}

function isOf({ rows }: OneStory, { postId }: ThreadRef): boolean {
  return rows.some(({ subject }) => subject.postId === postId)
}

function sayingForm(
  own: RecordedRow | undefined,
  row: RecordedRow,
  { story, said, token }: { story: Record<string, string>; said: ReadonlySet<string> | undefined; token: string },
): TemplatePart {
  if (own === undefined) return NOTHING
  const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`
  const [only] = said ?? []
  const both = said !== undefined && said.size > 1
  const before = both ? TEXTS.said.both : only === 'same' ? TEXTS.said.same : TEXTS.said['not-same']
  return html`<form class="pair" method="post" action="/stories/same">${hidden('token', token)}${onceField()}${hidden('id', story.id ?? '')}${hidden('tenant', story.tenant ?? '')}${hidden('own', carriedId(own.verdict.id))}${hidden('other', carriedId(row.verdict.id))}
<button name="say" value="same">${TEXTS.same}</button><button name="say" value="not-same">${TEXTS.notSame}</button>${said === undefined ? NOTHING : html` <span class="faint">${before}</span>`}</form>`
}

/** Those of them that are nearest to a post in meaning; null where that can't be told now. */
async function nearestTo(
  own: RecordedRow,
  others: readonly RecordedRow[],
  { embedder, known }: NearParts,
  signal: AbortSignal,
): Promise<RecordedRow[] | null> {
  const texts = [own, ...others].map((row) => row.words ?? '')
  try {
    const missing = [...new Set(texts)].filter((text) => !known.has(keyOf(text)))
    const { vectors } = await embedder.embed(missing, signal)
    for (const [at, vector] of vectors.entries()) known.set(keyOf(missing[at] ?? ''), vector)
  } catch {
    return null
  }
  const [asked, ...all] = texts.map((text) => known.get(keyOf(text)))
  if (asked === undefined) return null
  for (const key of known.keys()) if (known.size > MOST_VECTORS) known.delete(key)
  return others
    .map((row, at) => ({ row, cosine: cosine(asked, all[at] ?? new Float32Array()) }))
    .filter(({ cosine }) => cosine >= NEAR)
    .toSorted((a, b) => b.cosine - a.cosine)
    .slice(0, MOST_SHOWN)
    .map(({ row }) => row)
}

function cosine(a: Float32Array, b: Float32Array): number {
  const [dot, one, other] = a.reduce<[number, number, number]>(
    ([dot, one, other], value, at) => {
      const beside = b[at] ?? 0
      return [dot + value * beside, one + value * value, other + beside * beside]
    },
    [0, 0, 0],
  )
  return one === 0 || other === 0 ? 0 : dot / Math.sqrt(one * other)
}

const keyOf = (text: string) => hash('sha256', text, 'base64url')

/** Names a pair of posts in either order, and to nobody without the key either of them. */
function pairOf(one: ThreadRef, other: ThreadRef, key: string): string {
  const [first, second] = [one.postId, other.postId].sort()
  return hmac(key)(JSON.stringify(['pair', one.tenant, first, second]), 'base64url').slice(0, 22)
}

/** What people said of a post's pairs, the last of each person. */
async function saidOf(
  { tenant, postId }: ThreadRef,
  record: Pick<RecordReader, 'subject'>,
): Promise<Map<string, Set<string>>> {
  const last = new Map<string, { readonly pair: string; readonly label: string }>()
  for (const { said, label, by, message } of (await record.subject({ tenant, id: postId, kind: 'post' }))?.said ?? []) {
    const { pair } = (message ?? {}) as { pair?: unknown }
    if (said === 'pair' && typeof pair === 'string') last.set(`${pair} ${by}`, { pair, label: label ?? '' })
  }
  const labels = new Map<string, Set<string>>()
  for (const { pair, label } of last.values()) labels.set(pair, (labels.get(pair) ?? new Set()).add(label))
  return labels
}

/** Keeps what a person says of two posts: a message on each of them, so that each takes it along when it is deleted. */
export function samePage(parts: ReadingParts): Page[] {
  const { near } = parts
  if (near === undefined) return []
  const once = new SubmittedForms()
  return [
    {
      method: 'POST',
      path: '/stories/same',
      right: 'decide',
      answer: (asked) => once.take(asked.form, asked.session, () => say(asked, parts, near)),
    },
  ]
}

async function say({ form, session }: PageCall, parts: ReadingParts, near: NearParts): Promise<PageAnswer> {
  const { record, blinds } = parts
  const [id, tenant] = [form.get('id') ?? '', form.get('tenant') ?? '']
  const back = link('/stories/story', { id, tenant, near: 'yes' })
  const refused = refusal(TEXTS.unsaid, TEXTS.unsaidWhy, { to: back, says: TEXTS.one })
  const what = form.get('say') ?? ''
  if (what !== 'same' && what !== 'not-same') return refused
  const rows = await Promise.all(
    ['own', 'other'].map((field) => record.verdict(idOf(form.get(field) ?? ''), session.tenants)),
  )
  const [one, other] = rows.flatMap((row) =>
    row !== null && row.subject.kind === 'post' && !blinds.isClosed(session.by, row.subject) ? [row.subject] : [],
  )
  if (one === undefined || other === undefined || one.tenant !== other.tenant || one.postId === other.postId)
    return refused
  if (!may(session.grants, 'decide', one.tenant)) return refused
  const pair = pairOf(one, other, await near.key())
  const said = { schema: 1, what, to: null, pair, by: session.by, at: new Date(near.clock()).toISOString() } as const
  leaveTurn()
  try {
    for (const subject of [one, other])
      await near.casework.tell({ ...said, id: randomUUID(), ...namedSubject(subject) })
  } catch {
    // The writer reports why to the log.
    return refused
  }
  for (let waited = 0; waited < RECORDED_MS; waited += LOOK_MS) {
    if ((await saidOf(one, record)).has(pair)) break
    await sleep(LOOK_MS)
  }
  return { to: `${back}#near` }
}
