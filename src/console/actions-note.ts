import { z } from 'zod'
import { entryOf } from '../contracts/facts/entry-of.ts'
import type { RecordedWord, SubjectRecord } from '../contracts/ports/record.ts'
import { VERDICT_TEXTS } from './verdict-texts.ts'
import { html, link, moment, NOTHING, type SafeMarkup, type TemplatePart, words } from './view.ts'

const { actions: TEXTS } = VERDICT_TEXTS

const taken = z.object({
  id: z.string(),
  tenant: z.string().catch('default'),
  ground: z.string().optional().catch(undefined),
  clause: z.string().optional().catch(undefined),
  automated: z.boolean().optional().catch(undefined),
  until: z.string().optional().catch(undefined),
})

const request = z.object({ why: z.enum(['reversal', 'measure']), action: z.string(), measure: z.string().optional() })

/** What is asked for of an action, and since when. */
function askedOf({ said, message, at }: RecordedWord): [string, { what: string; at: number }][] {
  const read = said === 'review' ? request.safeParse(message).data : undefined
  return read === undefined ? [] : [[read.action, { what: read.measure ?? read.why, at }]]
}

/** By which an action says that nothing was done: there is nothing to state, nor to take back. */
const NOTHING_DONE = 'none'
/** Whether this action of a subject did something, so that it may be too much. */
export function wasSomethingDone({ said }: SubjectRecord, action: string | undefined): boolean {
  const named = said.find((one) => one.said === 'action' && taken.safeParse(one.message).data?.id === action)
  return action !== undefined && named?.label !== NOTHING_DONE
}

/** The newest so many actions. */
const MOST = 20

/** Who did what about a subject, and why it may be done. */
export function actionInWords({ by, label, message }: Pick<RecordedWord, 'by' | 'label' | 'message'>): SafeMarkup {
  const { id = '', tenant, ground, clause, automated } = taken.safeParse(message).data ?? {}
  const who = html`${words(by, { most: 60 })}${automated === true ? ` ${TEXTS.byRule}` : ''}`
  const named = words([id, ground, clause].filter((one) => one !== undefined).join(', '), { most: 300 })
  if (label === NOTHING_DONE) return html`${who} ${TEXTS.nothing} (${named}).`
  return html`${who} ${TEXTS.did} <strong>${words(label ?? '', { most: 64 })}</strong> (${named}). <a href="${link('/reasons', { tenant, id })}">${TEXTS.statement}</a>`
}

/** What was done about a subject by a protocol's verdicts, and what of it is in force. `asks`: why some of it is to be changed. */
export function actionsSection(
  { said }: SubjectRecord,
  {
    protocol,
    name,
    asks,
    now,
  }: {
    readonly protocol: string
    readonly name: string
    readonly asks: 'reversal' | 'measure' | null
    readonly now: number
  },
): TemplatePart {
  const own = said.filter((one) => one.said === 'action' && (one.protocol === protocol || one.protocol === ''))
  if (own.length === 0) return NOTHING
  const over = new Map(said.flatMap((one) => (one.said === 'withdrawal' ? [[one.label, one.at] as const] : [])))
  const asked = new Map(said.flatMap(askedOf))
  const state = ({ label, message }: RecordedWord): TemplatePart => {
    if (label === NOTHING_DONE) return NOTHING
    const { id = '', until = '' } = taken.safeParse(message).data ?? {}
    const at = over.get(id)
    if (at !== undefined) return html` ${TEXTS.over} ${moment(at)}.`
    if (Date.parse(until) <= now) return html` ${TEXTS.ended} ${moment(Date.parse(until))}.`
    const toChange = asked.get(id)
    return html` <strong>${TEXTS.inForce}</strong>${toChange === undefined ? NOTHING : html` ${entryOf(TEXTS.asked, toChange.what) ?? ''} ${moment(toChange.at)}.`}`
  }
  return html`<section aria-labelledby="done${name}"><h3 id="done${name}">${TEXTS.title}</h3>
<ul>${own.slice(-MOST).map((one) => html`<li>${moment(one.at)} ${actionInWords(one)}${state(one)}</li>`)}</ul>${asks === null ? NOTHING : html`<p class="notice">${TEXTS[asks]}</p>`}</section>`
}
