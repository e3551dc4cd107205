import type { AuditEntry } from '../contracts/facts/audit.ts'
import { entryOf } from '../contracts/facts/entry-of.ts'
import { fairSlots } from '../contracts/facts/slots.ts'
import type { AuditFindings, AuditLog, AuditPoint, AuditQuery } from '../contracts/ports/audit.ts'
import type { Clock } from '../contracts/ports/clock.ts'
import type { Report } from '../contracts/ports/report.ts'
import { shareOf } from '../platform/who-asks.ts'
import { AUDIT_TEXTS as TEXTS } from './audit-texts.ts'
import type { Page } from './page.ts'
import { noteSeen } from './read-audit.ts'
import { html, link, moment, NOTHING, type SafeMarkup, when, words } from './view.ts'

const DAY_MS = 86_400_000
/** Days that may be asked for; the first where none is. */
const DAYS = ['1', '7', '30', '400'] as const
/** What may be asked for by itself. */
const KINDS = {
  uncovered: { what: ['saw'], pages: ['/uncovered', '/picture'] },
  did: { what: ['did'] },
  saved: { what: ['saw'], pages: ['/verdict/file'] },
  refused: { what: ['refused'] },
  signed: { what: ['signed-in', 'signed-out'] },
  vetoed: { what: ['did'], pages: ['veto'] },
} as const satisfies Record<string, Pick<AuditQuery, 'what' | 'pages'>>

/** Most entries of a page, and most verdicts of an entry. */
const [MOST, MOST_VERDICTS] = [200, 5]

/** Who looked at what, for leads: of their tenants' subjects alone, where they are leads of some. */
export function auditPage({
  log,
  clock,
  report,
}: {
  readonly log: AuditLog
  readonly clock: Clock
  readonly report: Report
}): Page {
  // It reads for seconds, in which other pages take their turns.
  const turns = fairSlots({ all: () => 1 })
  return {
    method: 'GET',
    path: '/audit',
    right: 'overrule',
    isCostly: true,
    withoutTurn: 'it reads its log for seconds, one question at a time, in turns of its own',
    async answer({ query, session: { tenants }, asker, signal }) {
      const given = (name: string) => (query.get(name) ?? '').trim().slice(0, 2_000)
      const [by, subject] = [given('by'), given('subject')]
      const days = DAYS.find((one) => one === query.get('days')) ?? DAYS[0]
      const [kind = ''] = Object.keys(KINDS).filter((one) => one === given('kind'))
      const form = formOf({ by, subject, days, kind })
      if (!query.has('days')) return { title: TEXTS.title, body: form }
      const before = pointOf(given('before'), given('place'))
      const asked = {
        by: by === '' ? undefined : by,
        subject: subject === '' ? undefined : subject,
        tenants,
        ...entryOf<Pick<AuditQuery, 'what' | 'pages'>>(KINDS, kind),
        before,
      }
      try {
        const since = clock() - Number(days) * DAY_MS
        const found = await turns.run(shareOf(asker), signal, () => log.find({ ...asked, since, most: MOST }, signal))
        noteSeen(...found.entries.flatMap(({ verdicts }) => verdicts.slice(0, MOST_VERDICTS)))
        const older =
          found.next === null
            ? NOTHING
            : html`<p><a rel="next" href="${link('/audit', { by, subject, days, kind, ...namedPoint(found.next) })}">${TEXTS.older}</a></p>`
        return { title: TEXTS.title, body: html`${form}${findings(found)}${older}` }
      } catch (error) {
        if (!signal.aborted) report('error', { where: 'console', error })
        return { title: TEXTS.title, status: 503, body: html`${form}<p class="notice" role="alert">${TEXTS.away}</p>` }
      }
    },
  }
}

/** A point as an address has it; undefined for what is none. */
function pointOf(before: string, place: string): AuditPoint | undefined {
  const at = Date.parse(before)
  const [, partition, offset = ''] = /^(\d{1,9})@(\d{1,19})$/.exec(place) ?? []
  if (Number.isNaN(at)) return undefined
  return partition === undefined ? { at } : { at, place: { partition: Number(partition), offset: BigInt(offset) } }
}

function namedPoint({ at, place }: AuditPoint): { readonly before: string; readonly place?: string } {
  const before = new Date(at).toISOString()
  return place === undefined ? { before } : { before, place: `${place.partition}@${place.offset}` }
}

function formOf({ by, subject, days, kind }: { by: string; subject: string; days: string; kind: string }): SafeMarkup {
  return html`<h1>${TEXTS.title}</h1><p>${TEXTS.says}</p><form class="search" role="search" method="get" action="/audit">
<label>${TEXTS.person} <input name="by" value="${by}" maxlength="256" dir="auto"></label>
<label>${TEXTS.subject} <input name="subject" value="${subject}" maxlength="2000" dir="auto"></label>
<label>${TEXTS.days} <select name="days">${DAYS.map((one) => html`<option value="${one}"${one === days ? html` selected` : NOTHING}>${one}</option>`)}</select></label>
<label>${TEXTS.kind} <select name="kind"><option value="">${TEXTS.any}</option>${Object.entries(TEXTS.kinds).map(([one, says]) => html`<option value="${one}"${one === kind ? html` selected` : NOTHING}>${says}</option>`)}</select></label>
<button>${TEXTS.find}</button></form>`
}

function findings({ entries }: AuditFindings): SafeMarkup {
  if (entries.length === 0) return html`<p role="status">${TEXTS.none}</p>`
  return html`<div class="scrolls exact" tabindex="0"><table><thead><tr>${TEXTS.heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead><tbody>
${entries.map(rowOf)}</tbody></table></div>`
}

function rowOf({ at, by, what, page, verdicts, more, network = '', asked = {}, sha256 }: AuditEntry): SafeMarkup {
  const fields = Object.entries(asked).map(([name, value]) => (value === '' ? TEXTS.written(name) : `${name} ${value}`))
  const left = more + Math.max(0, verdicts.length - MOST_VERDICTS)
  return html`<tr><td>${moment(at)}</td><td>${words(by, { most: 60 })}</td><td>${TEXTS.what[what]}${when(sha256, (own) => html` <span class="hash faint">${TEXTS.file} ${words(own, { most: 64 })}</span>`)}</td><td>${words(page, { most: 60 })}${fields.length === 0 ? NOTHING : html` <span class="faint">${words(fields.join(', '), { most: 400 })}</span>`}</td><td>${verdicts.slice(0, MOST_VERDICTS).map((id) => html`<a href="${link('/verdict', { id })}">${words(id, { most: 80 })}</a> `)}${left === 0 ? NOTHING : TEXTS.more(left)}</td><td>${words(network, { most: 60 })}</td></tr>`
}
