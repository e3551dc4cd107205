import { parseHTML } from 'linkedom'
import { expect } from 'vitest'
import { shown } from '../../src/console/view.ts'
import { aConsole, aTurn, type Judged, tokenIn, WELL } from './console-for-tests.ts'

/** A thread with an argument in which every word is this one. */
function judgedWith(text: string, protocol: string, subjectId: string): Judged {
  const [one, other] = protocol === 'hate' ? ['non-hate', 'hate'] : ['support', 'oppose']
  return {
    verdict: {
      protocol,
      subjectId,
      label: 'rumor',
      rationale: text,
      degraded: [text],
      tenant: 'default',
      evidence: { support: ['c1', text.slice(0, 60)], oppose: ['c2'], precedents: [text.slice(0, 60)] },
      filtered: [{ stage: text, model: text, calls: 1, found: [{ category: text, severity: text }] }],
      models: { judge: text },
      versions: { script: 1, prompts: text, settings: text },
    },
    post: { text, author: text, lang: text, hateSpeech: text },
    comments: [
      { id: 'c1', text, author: text },
      { id: 'c2', text, author: text, parentId: 'c1' },
    ],
    turns: [
      aTurn('stance', 'scorer', { scores: [{ comment: 1, reason: text, score: 0.5 }] }, { about: ['c1', 'c2'] }),
      aTurn('opinion', `debater (${one})`, { reasoning: text, answer: text }),
      aTurn('debate', `debater (${other})`, { argument: text, label: text, more: [text, { [text]: text }] }),
      aTurn('debate', 'debater (strange)', text, { raw: text, model: text, stage: text }),
      aTurn('perspective', `perspective (${text})`, { reason: text, label: text }),
      aTurn('retrieve', 'library', { shelves: [{ shelf: text, neighbours: [{ text, label: text }] }] }),
      aTurn('judge', 'judge', { reason: text, label: text, rule: text, evidence: [text] }),
      aTurn('judge', text, null, { failed: { code: text, detail: text } }),
    ],
  }
}

/** What in a page could do something; a page holds nothing of it but the console's own. */
function dangersIn(page: string): string[] {
  const { document } = parseHTML(page)
  const all = [...document.querySelectorAll('*')]
  const known = new Set(
    'html,head,meta,title,link,script,body,a,header,nav,details,summary,form,input,button,main,h1,h2,h3,small,p,strong,bdi,span,time,section,article,blockquote,div,ul,ol,li,dl,dt,dd,svg,line,rect,table,thead,tbody,tr,th,td,select,option,label,textarea,fieldset,legend,template,style,dialog,kbd,h4,pre,figure,figcaption,g,path,text,tspan,datalist'.split(
      ',',
    ),
  )
  return all.flatMap((element) => {
    const name = element.localName
    const attributes = [...element.attributes].map(({ name: key, value }) => ({ key, value }))
    const at = attributes.flatMap(({ key, value }) => {
      if (/^on|^style$|^srcdoc$|^srcset$/i.test(key)) return [`${name} ${key}`]
      if (/^(src|href|action|formaction|data|poster)$/i.test(key) && !/^[/#](?!\/)/.test(value))
        return [`${name} ${key}=${value}`]
      return []
    })
    const own = name === 'script' && !element.getAttribute('src')?.startsWith('/assets/') ? ['script'] : []
    const other = known.has(name) ? [] : [name]
    return [...at, ...own, ...other]
  })
}

const MOST_CHARS = 8_000

/** Puts this text into every place that a stranger writes, opens every page, and sends every form. */
export async function attackEverywhere(whole: string, at: number): Promise<void> {
  // As intake cuts it, and so that a message holds it in all these places.
  const text = whole.slice(0, MOST_CHARS)
  const protocol = at % 3 === 0 ? 'hate' : 'rumor'
  const console = await aConsole({
    look: async () => ({
      ...WELL,
      away: [{ server: text, since: 0, why: text }],
      firing: [{ name: text, summary: text }],
    }),
    decide: async () => ({ of: '0@0', decided: { outcome: 'refused', why: text } }),
  })
  const verdict = await console.judged(judgedWith(text, protocol, `p${at}`))
  // What people said of it, and who.
  const word = text.toWellFormed().slice(0, 200)
  const said = { subjectId: `p${at}`, protocol, against: 1, by: word, why: word, at: verdict.timing.decidedAt }
  for (const more of [{ withdraw: true }, { label: word.slice(0, 64), opinion: true }])
    await console.topics.send('decisions', `p${at}`, { ...said, ...more }, 900)
  const undecided = judgedWith(text, protocol, `q${at}`)
  const waits = await console.judged({
    ...undecided,
    verdict: { ...undecided.verdict, label: null, decidedBy: 'none' },
  })
  const cookie = await console.signedIn(text.toWellFormed())
  const fields = ['q', 'label', 'author', 'tenant', 'before', 'model', 'from', 'protocol', 'done', 'said', 'seen']
  const query = new URLSearchParams({ id: verdict.id, ...Object.fromEntries(fields.map((name) => [name, text])) })
  const own = new URLSearchParams({ id: verdict.id })
  const check = async (path: string) => {
    const page = await console.page(path, cookie)
    expect(dangersIn(page.text), path).toEqual([])
    expect(console.reported, path).toEqual([])
    return page.text
  }
  const paths = [
    `/live?${query}`,
    '/live',
    `/verdict?${query}`,
    `/verdict/file?${own}`,
    `/verdict/news?${query}`,
    `/thread?${own}&from=${encodeURIComponent(text.toWellFormed())}`,
    `/search?${query}`,
    '/search',
    '/health',
    `/review?${query}`,
    `/verdict?${new URLSearchParams({ id: text })}`,
    `/sign-in/link?${new URLSearchParams({ t: text })}`,
    `/sign-in/back?${query}`,
  ]
  for (const path of paths) await check(path)
  const token = tokenIn(await check('/health'))
  const send = async (path: string, sent: Record<string, string>) => {
    const page = await console.post(path, sent, { cookie })
    expect(dangersIn(await page.text()), path).toEqual([])
    return page.headers.get('location') ?? ''
  }
  for (const sent of [
    { label: text, token },
    { label: 'rumor', token },
    { label: text, token: text },
    { label: text, token: `x.${token.split('.')[1]}` },
  ])
    await send('/decide', { id: verdict.id, why: text, ...sent })
  const item = await send('/review/take', { id: waits.id, token })
  expect(item).toContain('/review/item')
  const shownItem = await check(item)
  expect(parseHTML(shownItem).document.querySelector('.claim-words')?.textContent).toContain(
    shown(text, 60).slice(0, 59),
  )
  await check(`/review/item?${new URLSearchParams({ id: waits.id, said: text })}`)
  await check('/review')
  const label = protocol === 'hate' ? 'hate' : 'rumor'
  for (const sent of [{ label: text }, { label }])
    await send('/review/decide', { id: waits.id, why: text, token, ...sent })
  await send('/review/skip', { id: text, token })
  expect(
    parseHTML((await console.page(`/verdict?${own}`, cookie)).text).document.querySelector('.claim-words')?.textContent,
  ).toContain(shown(text, 60).slice(0, 59))
}
