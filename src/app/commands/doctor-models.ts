import { budgetsInDollars, modelsWithoutKey } from '../../../config/models.ts'
import type { Settings } from '../../../config/schema.ts'
import { counted } from '../../cli/terminal.ts'
import { isBlank } from '../../contracts/facts/blank.ts'
import { withServersWords } from '../../contracts/facts/errors.ts'
import type { Finding } from '../../contracts/facts/finding.ts'
import { placeOf, remedyFor } from '../../contracts/facts/model-name.ts'
import { printable } from '../../contracts/facts/printable.ts'
import { sameModel } from '../../contracts/facts/steps.ts'
import type { KeptDialects } from '../../contracts/ports/kept-dialects.ts'
import { NO_IMAGES } from '../../models/openai/learning.ts'
import { endpointOf } from '../../models/openai/models-of-endpoints.ts'
import { contextFindings } from './doctor-context.ts'
import { dialectFindings } from './doctor-dialects.ts'
import { signatureFindings } from './doctor-lanes.ts'
import { anotherModelFor, pasted } from './doctor-lines.ts'
import { keepScales, scaleFindings } from './doctor-scales.ts'
import {
  checkModels,
  isDecider,
  LEAST_HARM,
  type ModelCheck,
  operatorActionOf,
  type RoleCheck,
} from './model-checks.ts'
import { isOffScale } from './model-scales.ts'
import { isOwnServer } from './own-server.ts'

/** Longest name of a model or a role that is printed, in characters. */
const MAX_CHARS = 80

/**
 * Asks each model of each role one tiny question in the role's own form, and reports the outcome. Keeps for the service which models
 * score on another scale; null where nothing can be kept.
 */
export async function modelFindings(
  settings: Settings,
  signal: AbortSignal,
  kept: KeptDialects | null = null,
): Promise<Finding[]> {
  const unasked = modelsWithoutKey(settings)
  if (unasked.length > 0)
    return [
      {
        what: 'model',
        state: 'broken',
        detail: `the default endpoint has no key, and belongs to ${unasked.join(', ')}`,
        todo: 'Set OPENAI_API_KEY and OPENAI_BASE_URL, name models of another endpoint in models.roles (ENDPOINT/MODEL), or start the understudy with "gavel stack".',
      },
    ]
  const checks = await checkModels(settings, signal)
  const isKept = kept !== null && (await keepScales(checks, settings, kept))
  return checks.flatMap((check) => findingsOf(check, checks, settings, isKept))
}

function findingsOf(check: ModelCheck, checks: readonly ModelCheck[], settings: Settings, isKept: boolean): Finding[] {
  const what = `model ${check.model.slice(0, MAX_CHARS)}`
  return [
    ...answerFindings(what, check, settings),
    ...signatureFindings(what, check, settings),
    ...brokenFindings(what, check, settings),
    ...harmFindings(what, check),
    ...scaleFindings(what, check, settings, isKept),
    ...contextFindings(what, check, settings),
    ...dialectFindings(what, check, settings),
    ...usageFindings(what, check, settings),
    ...imageFindings(what, check, checks),
    ...retirementFindings(what, check, settings),
    ...priceFindings(what, check, settings),
  ]
}

function retirementFindings(what: string, { model, shutdown }: ModelCheck, { models }: Settings): Finding[] {
  if (shutdown === null) return []
  const chains = Object.entries(models.roles).filter(([, chain]) => chain.includes(model))
  const changed = chains.map(([role, chain]) => {
    const names = chain.map((name) => JSON.stringify(name === model ? 'NEW-MODEL' : name))
    return `${/^\w+$/.test(role) ? role : JSON.stringify(role)}: [${names.join(', ')}]`
  })
  return [
    {
      what,
      state: 'warning',
      detail: `will be retired on ${shutdown}, by its endpoint's list of models. Gavel runs until then; afterwards its calls fail, and posts for which no other model is set get no label`,
      todo: `Nothing to do today. Before that day, put another model in its place:\n${pasted(`models.roles: { ${changed.join(', ')} }`)}`,
    },
  ]
}

/** Refused for its image alone, by a model that takes none. */
function isUnseen({ withImage, error }: RoleCheck): boolean {
  return withImage && error?.message.includes(NO_IMAGES) === true
}

/** Whether its answers can be read, in each role's form. */
function answerFindings(what: string, { model, roles }: ModelCheck, settings: Settings): Finding[] {
  const good = roles.filter(({ why }) => why === null)
  const bad = roles.filter(({ why }) => why !== null)
  if (good.length === 0) return []
  const answers = good.map(({ reply }) => reply).filter((reply) => reply !== null)
  const tokens = answers.reduce((sum, { promptTokens, completionTokens }) => sum + promptTokens + completionTokens, 0)
  const asked = placeOf(model, settings.endpoints).model
  const others = [...new Set(answers.map((reply) => reply.model))].filter((name) => !isNameOf(name, asked))
  const times = good.map(({ ms }) => ms).sort((one, other) => one - other)
  const median = times[Math.floor(times.length / 2)] ?? 0
  return [
    {
      what,
      state: 'ok',
      detail: `answered ${bad.length === 0 ? '' : `${good.length} of `}${counted(roles.length, 'test question')}, one for each of its roles, in a readable form${bad.length === 0 ? '' : ` (not as ${listed(bad)}: see below)`}; whether the answers are right was not checked (gavel eval does, on labelled data); half of them took ${Math.round(median)} ms or less${tokens === 0 ? '' : `; ${tokens} tokens in all`}${others.length === 0 ? '' : `; the answers are signed by another model (${others.map((name) => printable(name, MAX_CHARS)).join(', ')}), which is right if ${asked.slice(0, MAX_CHARS)} is your name for it; else see where the endpoint sends it`}`,
    },
  ]
}

/** Whether an endpoint that was asked for `asked` may sign so: dates, `-latest` and makers' names come and go. */
function isNameOf(signed: string, asked: string): boolean {
  const plain = (name: string) => name.slice(name.lastIndexOf('/') + 1).toLowerCase()
  const stem = plain(asked).replace(/-latest$|:latest$/, '')
  return sameModel(plain(signed), plain(asked)) || plain(signed).startsWith(stem)
}

function harmFindings(what: string, { roles }: ModelCheck): Finding[] {
  return roles.flatMap(({ role, harm, refusedHarm }): Finding[] => {
    if (refusedHarm)
      return [
        {
          what,
          state: 'warning',
          detail: `refused to score a threat of murder as ${role}, by a filter or by itself. Gavel runs; the door's scores (comments:analyze, moderations) answer such texts with an error, and never call them harmless`,
          todo: `If you use these routes, switch the filter off, or name a model without one for this role:\n${pasted(`models.roles: { "${role}": ["ENDPOINT/MODEL"] }`)}\nElse do nothing.`,
        },
      ]
    if (harm === null || harm >= LEAST_HARM) return []
    return [
      {
        what,
        state: 'broken',
        detail: `gave a threat of murder at most ${harm} of 100 as ${role}: it scores on another scale, or can't tell harm. The door's scores (comments:analyze, moderations) would call harmful texts harmless`,
        todo: anotherModelFor([role]),
      },
    ]
  })
}

function usageFindings(what: string, { roles }: ModelCheck, { budgets, limits }: Settings): Finding[] {
  if (!roles.some(({ why, reply }) => why === null && reply?.unreported === true)) return []
  const all = [budgets.verdict, budgets.tenant, budgets.total, ...Object.values(budgets.tenants)]
  const isBounded =
    all.some(({ tokens, usd }) => tokens !== null || usd !== null) ||
    [...Object.values(limits.models), ...Object.values(limits.tenants)].some((one) => one.tokensPerMinute !== undefined)
  return [
    {
      what,
      state: 'warning',
      detail: `reports no token counts ("usage"), or none that can be right. Gavel runs: tokens and costs in verdicts are estimates${isBounded ? ', and the budgets and limits that you have set count each call at the most that it could have used, so that they are used up early' : '. Nothing else depends on them, as you have set no budget and no limit of tokens'}`,
      todo: 'This can wait. No setting mends it: the server, or the gateway in front of it, must return "usage".',
    },
  ]
}

function brokenFindings(what: string, { model, roles, scaleFaults }: ModelCheck, settings: Settings): Finding[] {
  const misread = new Set(scaleFaults.map(({ role }) => role))
  const bad = roles.filter((one) => one.why !== null && !isUnseen(one) && !one.refusedHarm && !misread.has(one.role))
  return [...Map.groupBy(bad, (role) => role.why ?? '')].map(([why, of]) => ({
    what,
    state: 'broken',
    detail: `no readable answer as ${listed(of)}${of.every(({ withImage }) => withImage) ? ', whose question contains an image' : ''}: ${saidOf(of[0]) ?? why}`,
    // What a question without an image gets as well is no matter of images.
    todo: adviceOn(of.find(({ withImage }) => !withImage) ?? of[0], model, settings),
  }))
}

/** Why a call failed, in the server's words too; null for a call that was answered. */
function saidOf(role: RoleCheck | undefined): string | null {
  return role?.error == null ? null : withServersWords(role.error)
}

function adviceOn(role: RoleCheck | undefined, model: string, settings: Settings): string {
  if (role?.why != null && isOffScale(role.why)) return anotherModelFor([role.role])
  const names = endpointOf(settings, model)
  const mend = operatorActionOf(role?.error ?? null)
  if (mend !== undefined) return remedyFor(mend, names)
  if (role?.withImage === true && role.error !== null)
    return `If it can't look at images, name one that can:\n${pasted(`models.roles: { "${role.role}": ["ENDPOINT/MODEL"] }`)}`
  if (role?.error == null && !isBlank(role?.reply?.thoughts ?? '') && isBlank(role?.reply?.text ?? ''))
    return 'All that it wrote is in the reasoning of its answer, and the answer (content) is empty: no setting here mends that. Start its server without a reasoning parser (vLLM: without --reasoning-parser), or in a version whose parser ends the thoughts.'
  if (role?.error == null && role !== undefined && isDecider(role))
    return "What it answers to the question of a first lane can't be read: name another model for this role. Another form, or another question, is another decider: fit its lane again (docs/lane.md)."
  if (role?.error == null)
    return [
      'Its answer does not fit the form. Try this, or form: text; else a larger answerTokens, or another model for this role:',
      pasted(`models.dialects: { "${model}": { form: json_object } }`),
    ].join('\n')
  if (/timeout|no answer within/.test(role.error.message)) {
    const setting = role.tier === 'flex' ? 'flexTimeout' : 'callTimeout'
    return `It took longer than models.${setting} (${settings.models[setting] / 1000} s): raise that, or name a faster model.`
  }
  if (/models\.dialects/.test(role.error.message))
    return `Set it for "${model}" in models.dialects, or name another model.`
  return `${remedyFor('unreachable', names, { why: role.error.message })} A server that refuses a parameter is named with it; this one named none.`
}

/** What is known of whether it looks at images, which only posts with images need. */
function imageFindings(what: string, { model, roles }: ModelCheck, checks: readonly ModelCheck[]): Finding[] {
  const found: Finding[] = []
  for (const { role, why } of roles.filter(isUnseen)) {
    const others = checks.filter(
      (check) => check.model !== model && check.roles.some((one) => one.role === role && one.why === null),
    )
    const detail = `takes no images: it refused a test image as ${role} (${(why ?? '').replace(`: ${NO_IMAGES}`, '')})`
    if (others.length > 0)
      found.push({
        what,
        state: 'ok',
        detail: `${detail}, and ${others.map((one) => one.model).join(', ')} is asked instead`,
      })
    else
      found.push({
        what,
        state: 'warning',
        detail: `${detail}. Gavel runs, and posts without images are judged as ever. A post with images is judged by its words alone: with unsafe words it is labelled unsafe, with safe words it gets no label (label: null), and whoever reads verdicts decides`,
        todo: [
          'If no post has an image, do nothing. (protocols.safety: { images: false } takes this line away, and changes no label.)',
          'If posts have images, and one of your models takes them, name that for this role; ENDPOINT is one of endpoints:',
          pasted(`models.roles: { "${role}": ["ENDPOINT/MODEL"] }`),
          'If posts have images, and none of your models takes them, leave it as it is.',
        ].join('\n'),
      })
  }
  const seeing = roles.filter(({ namedColour }) => namedColour === true)
  if (seeing.length > 0)
    found.push({ what, state: 'ok', detail: `named the colour of a test image (${listed(seeing)})` })
  const blind = roles.filter(({ namedColour }) => namedColour === false)
  if (blind.length > 0)
    found.push({
      what,
      state: 'warning',
      detail: `took a test image and did not name its colour (${listed(blind)}): some servers take images and drop them, and what a model says of them may then be invented. Gavel runs; only posts with images are at risk`,
      todo: [
        'If no post has an image, do nothing. (protocols.safety: { images: false } takes this line away.)',
        'Else see whether it looks at one of yours. Put its address in here, and run it, with the --config of this command if it had one; if the turn of the describer says what is on it, all is well, and this line, which stays, can be ignored:',
        pasted(`echo '${LOOK}' > look.jsonl; gavel judge look.jsonl --protocol safety --transcript`),
        'If it does not, and one of your models takes images, name that for this role; ENDPOINT is one of endpoints:',
        ...blind.map(({ role }) => pasted(`models.roles: { "${role}": ["ENDPOINT/MODEL"] }`)),
        'If it does not, and none of your models takes images, do not leave it. With this no image is sent, and a post with images is judged by its words: unsafe where they are, else without a label:',
        pasted('protocols.safety: { images: false }'),
      ].join('\n'),
    })
  return found
}

const LOOK = JSON.stringify({
  type: 'post',
  id: 'look',
  text: '',
  createdAt: '2026-01-01T00:00:00Z',
  media: [{ kind: 'image', url: 'https://YOUR.HOST/IMAGE.jpg' }],
})

function priceFindings(what: string, { model, priced }: ModelCheck, settings: Settings): Finding[] {
  if (priced) return []
  const isOwn = isOwnServer(endpointOf(settings, model).baseUrl)
  const isStopped = settings.budgets.unpriced === 'refuse'
  const detail =
    budgetsInDollars(settings).length === 0
      ? 'has no price, so that verdicts count its calls as $0. Gavel runs, and this is harmless as long as you set no budget in dollars (you have set none)'
      : `has no price, so that its calls count as $0, and your budget in dollars never stops them. ${isStopped ? 'Gavel does not start so: see "budgets"' : 'Gavel runs'}`
  const usd = isOwn ? '0' : 'PRICE'
  const price = pasted(`models.prices: { "${model}": { prompt: ${usd}, cached: ${usd}, completion: ${usd} } }`)
  const todo = isOwn
    ? `Can wait. On a machine of your own this is right, and takes the line away:\n${price}`
    : `Can wait. Its prices in US dollars per million tokens, in place of PRICE (cached: as prompt, if there is no discount):\n${price}`
  return [{ what, state: 'warning', detail, todo }]
}

const listed = (roles: readonly RoleCheck[]) => roles.map(({ role }) => role.slice(0, MAX_CHARS)).join(', ')
