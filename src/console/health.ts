import { tenantsOf } from '../contracts/facts/person-roles.ts'
import { APPEALS_AT } from './decision-form.ts'
import { type SmallFigure, smallFigure } from './figures.ts'
import { usd } from './notes.ts'
import type { Page } from './page.ts'
import { TEXTS } from './texts.ts'
import { html, moment, NOTHING, type SafeMarkup, type TemplatePart, when, words } from './view.ts'

/** How the service stands, as far as it is known. */
export interface ServiceStatus {
  /** ms since 1970 */
  readonly at: number
  readonly away: readonly { readonly server: string; readonly since: number; readonly why: string }[]
  readonly lag: readonly { readonly topic: string; readonly messages: number; readonly seconds: number | null }[] | null
  readonly replicas: readonly { readonly url: string; readonly says: ReplicaReport | null }[]
  readonly firing: readonly { readonly name: string; readonly summary: string }[] | null
  readonly stages:
    | readonly {
        readonly protocol: string
        readonly stage: string
        readonly states: { readonly waiting: number; readonly active: number; readonly delayed: number }
        readonly oldestWaitingSeconds: number
      }[]
    | null
  readonly openCases: number | null
  readonly due: number | null
  readonly outbox: { readonly size: number; readonly oldestSeconds: number } | null
  readonly paused: readonly string[] | null
  /** false: there is no service that this console could ask. */
  readonly isConnected?: boolean
}

/** A process's own figures, since it started. */
export interface ReplicaReport {
  readonly wrong: readonly ReplicaProblem[]
  readonly slots: { readonly busy: number; readonly waiting: number }
  readonly published: { readonly verdicts: number }
  readonly costUsd: number
}

interface ReplicaProblem {
  readonly what: string
  readonly runbook: string
}

interface Problem extends ReplicaProblem {
  readonly since?: number
}

interface WaitingLine {
  readonly what: string
  readonly much: number
  readonly seconds: number | null
  readonly runbook: string
}

/** How much waits for people, of it for the answer to an appeal, and since when the first of these does. */
interface WaitingForPeople {
  readonly all: number
  readonly appealed: number
  readonly oldest: number | null
}

/** From then on somebody should look at why something waits, in s. */
const LONG_SECONDS = 60

/** One page: whether all is well, what waits where and since when, and what to do first. */
export function healthPage(parts: {
  readStatus: () => Promise<ServiceStatus>
  /** What the dashboards show first, until now. */
  figures: (now: ServiceStatus) => readonly SmallFigure[]
  runbook: (name: string) => readonly string[]
  /** How many verdicts wait for people; null where nobody decides here. */
  forPeople: (() => Promise<WaitingForPeople>) | null
}): Page {
  return {
    method: 'GET',
    path: '/health',
    right: 'see',
    async answer({ session }) {
      const now = await parts.readStatus()
      if (now.isConnected === false)
        return {
          title: TEXTS.health.title,
          body: html`<h1>${TEXTS.health.title}</h1><p class="notice">${TEXTS.health.alone}</p>`,
        }
      const waits = waitingOf(now)
      const problems = [...wrong(now), ...waits.filter(({ seconds }) => (seconds ?? 0) > LONG_SECONDS).map(tooLong)]
      const says = problems.length === 0 ? TEXTS.health.well : TEXTS.health.notWell(problems.length)
      const isOperator = tenantsOf(session.grants, 'operate') === undefined
      const waiting = isOperator ? await parts.forPeople?.() : undefined
      const tone = problems.length === 0 ? 'good' : 'bad'
      return {
        title: TEXTS.health.title,
        body: html`<h1>${TEXTS.health.title}</h1>
<p class="standing ${tone}" role="status">${says}</p>
${
  isOperator
    ? html`${problems.map((problem) => problemBlock(problem, parts.runbook(problem.runbook)))}
<section aria-labelledby="figures"><h2 id="figures">${TEXTS.health.hour}</h2><div class="small-figures">${parts.figures(now).map(smallFigure)}</div></section>
<h2>${TEXTS.health.waits}</h2>
${waitsTable(waits)}
${when(waiting, ({ all, appealed, oldest }) => html`<p>${TEXTS.health.forPeople(all)}${all === 0 ? NOTHING : html` <a href="/review">${TEXTS.review.title}</a>`}${appealed === 0 ? NOTHING : html` ${TEXTS.health.appealed(appealed)} <a href="${APPEALS_AT}">${TEXTS.health.appeals}</a>${when(oldest, (since) => html`, ${TEXTS.review.oldest} ${moment(since)}`)}`}</p>`)}
${now.replicas.length === 0 ? NOTHING : html`<h2>${TEXTS.health.runs}</h2>${runsTable(now.replicas)}`}`
    : html`<p>${TEXTS.health.ofOperators}</p>`
}
<p class="faint">${TEXTS.health.seen} ${moment(now.at)} · <a href="/health">${TEXTS.health.reload}</a></p>`,
      }
    },
  }
}

function wrong({ away, replicas, firing }: ServiceStatus): Problem[] {
  const own = new Map(replicas.flatMap(({ says }) => says?.wrong ?? []).map((one) => [one.what, one]))
  return [
    ...away.map(({ server, since, why }) => ({
      what: `${TEXTS.health.away(server)}: ${why}`,
      since,
      runbook: `Gavel${server}Unreachable`,
    })),
    ...(replicas.length > 0 && replicas.every(({ says }) => says === null)
      ? [{ what: TEXTS.health.noReplica, runbook: 'GavelDown' }]
      : []),
    ...own.values(),
    ...(firing ?? []).map(({ name, summary }) => ({
      what: `${name} ${TEXTS.health.firing}: ${summary}`,
      runbook: name,
    })),
  ]
}

function waitingOf({ lag, stages, due, outbox, openCases }: ServiceStatus): WaitingLine[] {
  const all: WaitingLine[] = [
    ...(lag ?? []).map(({ topic, messages, seconds }) => ({
      what: TEXTS.health.lag(topic),
      much: messages,
      seconds,
      runbook: 'GavelKafkaLag',
    })),
    { what: TEXTS.health.due, much: due ?? 0, seconds: null, runbook: '' },
    ...(stages ?? []).map(({ protocol, stage, states, oldestWaitingSeconds: seconds }) => {
      const much = states.waiting + states.active + states.delayed
      return { what: TEXTS.health.stage(protocol, stage), much, seconds, runbook: 'GavelStageStuck' }
    }),
    { what: TEXTS.health.open, much: openCases ?? 0, seconds: null, runbook: '' },
    {
      what: TEXTS.health.outbox,
      much: outbox?.size ?? 0,
      seconds: outbox?.oldestSeconds ?? null,
      runbook: 'GavelPublicationHeld',
    },
  ]
  return all.filter(({ much }) => much > 0).sort((one, other) => (other.seconds ?? 0) - (one.seconds ?? 0))
}

function tooLong({ what, runbook }: WaitingLine): Problem {
  return { what: TEXTS.health.long(what), runbook }
}

function problemBlock({ what, since }: Problem, steps: readonly string[]): SafeMarkup {
  return html`<section class="problem"><h2>${words(what, { most: 300 })}${since === undefined ? NOTHING : html` <small>${TEXTS.health.since} ${moment(since)}</small>`}</h2>
<h3>${TEXTS.health.steps}</h3>
${steps.length === 0 ? html`<p>${TEXTS.health.noSteps}</p>` : html`<ol>${steps.map((step) => html`<li>${step}</li>`)}</ol>`}</section>`
}

function waitsTable(waits: readonly WaitingLine[]): TemplatePart {
  if (waits.length === 0) return html`<p>${TEXTS.health.nothingWaits}</p>`
  return html`<table><thead><tr>${TEXTS.health.heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${waits.map(({ what, much, seconds }) => html`<tr><th scope="row">${what}</th><td class="number">${much}</td><td class="number">${seconds === null ? '' : `${Math.round(seconds)} s`}</td></tr>`)}</tbody></table>`
}

function runsTable(replicas: ServiceStatus['replicas']): SafeMarkup {
  const heads = TEXTS.health.runHeads.map(
    (head, at) => html`<th scope="col" class="${at === 0 ? '' : 'number'}">${head}</th>`,
  )
  const row = ({ url, says }: ServiceStatus['replicas'][number]) => {
    const cells = says === null ? [] : [says.slots.busy, says.slots.waiting, says.published.verdicts, usd(says.costUsd)]
    return html`<tr><th scope="row">${words(url, { most: 200 })}</th>${says === null ? html`<td colspan="4">${TEXTS.health.silent}</td>` : cells.map((cell) => html`<td class="number">${cell}</td>`)}</tr>`
  }
  return html`<div class="scrolls" tabindex="0"><table><thead><tr>${heads}</tr></thead><tbody>${replicas.map(row)}</tbody></table></div>`
}
