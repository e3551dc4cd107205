import { expect, it } from 'vitest'
import { grantsOf, type PersonRole } from '../../src/contracts/facts/person-roles.ts'
import { at } from '../contracts/record.ts'
import { aConsole } from './console-for-tests.ts'

it('a lead sees how often machines are wrong with what waits beside it, and how people decide, of their tenants', async () => {
  const console = await aConsole({ auditShare: 1 })
  console.pass(Date.parse(at(1_000)))
  const enter = (role: PersonRole, tenants: readonly string[]) => {
    const grants = grantsOf({ by: role, groups: ['mods'] }, [{ who: 'group:mods', role, tenants }])
    return `gavel-console-8421=${console.sessions.open({ by: role, grants })}`
  }
  const machine = { decidedBy: 'consensus', label: 'rumor' } as const
  for (let n = 0; n < 12; n++) {
    const subjectId = `p${n}`
    const timing = { createdAt: at(n), receivedAt: at(n), openedAt: at(n), decidedAt: at(n), modelMs: 0, overheadMs: 0 }
    await console.judged({ verdict: { ...machine, subjectId, timing } })
    // The fourth is left for later.
    if (n === 3) continue
    const message = { subjectId, protocol: 'rumor', label: n === 1 ? 'non-rumor' : 'rumor', against: 1, why: 'w' }
    await console.topics.send('decisions', subjectId, { ...message, by: 'ann <b>', at: at(90) }, 90)
    const decision = { by: 'ann <b>', against: null, of: '0@0' }
    await console.judged({ verdict: { subjectId, revision: 2, decidedBy: 'human', label: message.label, decision } })
  }
  for (let n = 0; n < 2; n++)
    await console.record.pictures.noteUncovered('ann <b>', {
      tenant: 'default',
      label: 'hate',
      at: Date.parse(at(900)),
    })
  const { text, status } = await console.page('/quality', enter('lead', ['default']))
  expect(status).toBe(200)
  const rows = [...text.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, cells = '']) =>
    cells
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
  const row = (begins: RegExp) => rows.find((cells) => begins.test(cells))
  // Three count, one waits, and eight were looked at before their turn.
  expect(row(/machine wrong all/)).toMatch(
    /33\.3 % \(.*\) 1 of 3 \(1 of 11 looked at\) 1 \(8 looked at before their turn\)$/,
  )
  expect(text).toContain('/verdict?id=rumor%7Ep3%7Er1')
  expect(row(/^ann/)).toBe('ann &lt;b&gt; 11 0 too few to tell too few to tell 0 of 11 too few to tell 2')
  expect((await console.page('/quality?days=30', enter('lead', ['acme']))).text).toContain(
    'Nobody has decided anything',
  )
  expect((await console.page('/quality', enter('moderator', ['default']))).status).toBe(403)
  expect((await console.page('/live', enter('moderator', ['default']))).text).not.toContain('href="/quality"')
  expect((await console.page('/live', enter('lead', ['default']))).text).toContain('href="/quality"')
  console.close()
})

it('a lead sees what people found of a first lane, and how many of its verdicts it takes to notice that it got worse', async () => {
  const lane = { protocol: 'rumor', lane: '0a1b', basis: 'x', tenant: 'default', risk: 0.05, delta: 0.05, groups: 1 }
  const console = await aConsole({ auditShare: 1, lanes: [lane, { ...lane, lane: '2c3d', tenant: null }] })
  const enter = (tenants: readonly string[] | undefined) => {
    const granted = { who: 'group:mods', role: 'lead' as const, ...(tenants === undefined ? {} : { tenants }) }
    return `gavel-console-8421=${console.sessions.open({ by: 'lead', grants: grantsOf({ by: 'lead', groups: ['mods'] }, [granted]) })}`
  }
  for (let n = 0; n < 9; n++) {
    const subjectId = `p${n}`
    const timing = { createdAt: at(n), receivedAt: at(n), openedAt: at(n), decidedAt: at(n), modelMs: 0, overheadMs: 0 }
    const versions = { script: 1, prompts: 'p', settings: 's', lane: '0a1b' }
    await console.judged({ verdict: { decidedBy: 'lane', label: 'rumor', subjectId, timing, versions } })
    if (n === 8) continue
    const decision = { by: 'ann', against: null, of: '0@0' }
    const label = n < 4 ? 'non-rumor' : 'rumor'
    await console.judged({ verdict: { subjectId, revision: 2, decidedBy: 'human', label, decision } })
  }
  const { text } = await console.page('/quality', enter(['default']))
  expect(text).toMatch(/0a1b.*?4 of 8.*?50\.0 % \(.*?closed itself for default/s)
  expect(text).toContain('/verdict?id=rumor%7Ep8%7Er1')
  expect(text).toContain('at this share 52,500 that it settles')
  // What is settled of all tenants together is for who sees all.
  expect(text).not.toContain('2c3d')
  expect((await console.page('/quality', enter(['acme']))).text).not.toContain('0a1b')
})
