import { describe, expect, test } from 'vitest'
import { loadFiles } from '../../config/load.ts'
import { type Policy, readPolicy, renderPolicy } from '../../src/protocols/policy.ts'

const read = (text: string) => readPolicy('p.md', text)
const ids = ({ clauses }: Policy) => clauses.map(({ id, allows }) => (allows ? `+${id}` : id))
const clause = (policy: Policy, id: string) => policy.clauses.find((one) => one.id === id)

const OWN = `---
name: House rules
version: 3
language: en
protocols: [hate]
tenant: acme
date: 2026-11-01
owner: trust@acme.example
---
# House rules

All who have a trait may be meant, or one of them.

## Forbidden
### H1 Threats
Harm that is announced.
Covers:
- threats of harm
- calls for it
Does not cover:
- news of threats
Examples:
- "We know where you live."
#### H1.a Veiled threats
- hints
## Allowed
### A1 Counter-speech
- words against hate
`

describe('a policy in the form of its own', () => {
  const policy = read(OWN)

  test('has what its front matter says, and a hash of the file', () => {
    expect(policy).toMatchObject({
      name: 'House rules',
      version: '3',
      language: 'en',
      protocols: ['hate'],
      tenant: 'acme',
    })
    expect(policy.hash).toMatch(/^[0-9a-f]{16}$/)
    expect(read(`${OWN} `).hash).not.toBe(policy.hash)
  })

  test('has clauses that forbid and that allow, each with its line and lists', () => {
    expect(ids(policy)).toEqual(['H1', 'H1.a', '+A1'])
    expect(clause(policy, 'H1')).toEqual({
      id: 'H1',
      title: 'Threats',
      allows: false,
      line: 15,
      says: ['Harm that is announced.'],
      covers: ['threats of harm', 'calls for it'],
      excludes: ['news of threats'],
      examples: ['"We know where you live."'],
    })
  })

  test('is shown clause by clause, what it allows apart from what it forbids', () => {
    expect(renderPolicy(policy).split('\n')).toEqual([
      'All who have a trait may be meant, or one of them.',
      'Clauses that forbid:',
      'H1 Threats. Harm that is announced.',
      '- threats of harm',
      '- calls for it',
      '- does not cover: news of threats',
      '- example: "We know where you live."',
      'H1.a Veiled threats',
      '- hints',
      'Clauses that allow:',
      'A1 Counter-speech',
      '- words against hate',
    ])
  })

  test('needs no front matter: its title is its name, and the beginning of its hash its version', () => {
    const plain = read('# House rules\n## H1 Threats\n- threats\n')
    expect(plain).toMatchObject({ name: 'House rules', version: plain.hash.slice(0, 8) })
  })

  test('may be in another language than the posts', () => {
    expect(clause(read('## H1 A\nCovers\n- a\nDoes not cover\n- b\n'), 'H1')).toMatchObject({
      covers: ['a'],
      excludes: ['b'],
    })
    expect(clause(read('# Règles\n## H1 Menaces\nCovers:\n- les menaces\n'), 'H1')?.covers).toEqual(['les menaces'])
  })

  test('allows by the headings above a clause: what its title forbids may speak of what is allowed', () => {
    const text = `# Forbidden
## H1 Denying people what is allowed to others
## H2 Threats, without exceptions
# Allowed
## A1 Words that are otherwise forbidden, repeated in order to reject them
## H3 Not allowed: threats
# Other rules
## A2 Exceptions
`
    expect(ids(read(text))).toEqual(['H1', 'H2', '+A1', 'H3', '+A2'])
  })

  test('has the same lists where its lines are wrapped, and headings that stand in a little', () => {
    const text = `## H1 Threats
Does not cover:
- news of
  threats
- satire,
as it is known

 ## H2 Slurs
- slurs that
  are meant

They are explained.
- contempt
`
    const policy = read(text)
    expect(clause(policy, 'H1')?.excludes).toEqual(['news of threats', 'satire, as it is known'])
    expect(clause(policy, 'H2')).toMatchObject({
      covers: ['slurs that are meant', 'contempt'],
      says: ['They are explained.'],
    })
  })

  test('has exceptions of one clause beneath it, and those of all in a section of their own', () => {
    const policy = read(
      '# Forbidden\n## H1 Threats\n### Exceptions\n- news\n## H2 Slurs\n- slurs\n## Exceptions\n- satire\n',
    )
    expect(policy.clauses.map(({ id, excludes }) => [id, excludes])).toEqual([
      ['H1', ['news']],
      ['H2', []],
    ])
    expect(policy.general).toEqual(['Exceptions: satire'])
  })

  test('has clauses in no code, and in no comment', () => {
    expect(ids(read('## H1 Threats\n```\n## H2 Code\n```\n<!--\n## H3 Gone\n-->\n- threats\n'))).toEqual(['H1'])
  })
})

describe('policies in the forms in which they are published', () => {
  test('ids in brackets behind the title, parts at the beginning of items, a label that each clause asks for', () => {
    const policy = read(`# Spoilers (#SPO)
## Goal
Label each example VALID or INVALID.
## Definitions
- Spoiler: tells an ending.
## Fine (SPO0 - No spoiler)
Talk about stories.
Examples:
- SPO0.a Reviews: "A fine film."
Output: \`VALID\`
## Endings (SPO1 - The ending is told)
Words that tell an ending.
Examples:
- SPO1.a Deaths: "She dies."
- SPO1.b "He did it."
Output: \`INVALID\`
## Label Format
- \`SPO0\`: none
## Ambiguity and Escalation
- If unsure, it is SPO0.
`)
    expect(ids(policy)).toEqual(['+SPO0', '+SPO0.a', 'SPO1', 'SPO1.a', 'SPO1.b'])
    expect(clause(policy, 'SPO1.a')).toMatchObject({ title: 'Deaths', says: ['"She dies."'] })
    expect(clause(policy, 'SPO1.b')).toMatchObject({ title: '', says: ['"He did it."'] })
    expect(policy.leftOut.map(({ line }) => line)).toEqual([10, 16, 17, 18])
    expect(policy.general).toEqual([
      'Goal: Label each example VALID or INVALID.',
      'Definitions: Spoiler: tells an ending.',
      'Ambiguity and Escalation: If unsure, it is SPO0.',
    ])
    expect(renderPolicy(policy)).not.toMatch(/Output|none$/m)
  })

  test('ids in bold lines, beneath headings that say what they are for', () => {
    const policy = read(`# Model policy
## Definitions
**Spoiler:** tells an ending.
---
## Invalid Content Types (Remove)
**SPO1: Endings - at once.**
Words that tell an ending. Signs are:
  - a name;
  - a death.
Examples:
- Posts that tell it:
  - "She dies."
## Valid Content Types (Permit)
**SPO0: Anything else.**
What does not qualify as SPO1.
**SPO.01: Warned.**
Told after a warning.
`)
    expect(ids(policy)).toEqual(['SPO1', '+SPO0', '+SPO.01'])
    expect(clause(policy, 'SPO1')?.examples).toEqual(['Posts that tell it: "She dies."'])
  })

  test('one id in capitals, with what it includes and excludes', () => {
    const policy = read(
      'Spoilers\n# Criteria\n## Label\n### (SPOIL) Spoilers\n#### Includes\n- **Endings**: told\n#### Excludes\n- Reviews\n',
    )
    expect(policy.clauses).toMatchObject([
      { id: 'SPOIL', title: 'Spoilers', allows: false, covers: ['Endings: told'], excludes: ['Reviews'] },
    ])
  })
})

describe('what is wrong with a policy is named with its line', () => {
  const faults = (text: string) => {
    try {
      read(text)
    } catch (error) {
      return error instanceof Error ? error.message.split('\n') : []
    }
    return []
  }

  test.each([
    ['an id that comes twice', '## H1 A\n- a\n## H1 B\n', 'p.md:3: the id H1 comes twice, first on line 1'],
    ['an id that looks like another', '## HO1 A\n## H01 B\n', 'p.md:2: the id H01 looks like HO1 on line 1'],
    ['a Cyrillic letter that looks like H', '## H2 A\n## \u041d1 B\n', 'p.md:2: the id "\u041d1" has letters'],
    ['a full-width digit', '## H2 A\n## H\uff11 B\n', 'p.md:2: the id "H\uff11" has letters'],
    ['no clause', '# Rules\nBe kind.\n', 'p.md:1: no clause forbids anything'],
    ['no clause that forbids', '# Allowed\n## H1 A\n', 'p.md:1: no clause forbids anything'],
    ['front matter without an end', '---\nname: a\n', 'p.md:1: the front matter has no end'],
    ['a key that front matter does not have', '---\nname: a\ntennant: b\n---\n## H1 A\n', 'p.md:1: front matter'],
    ['front matter that is no YAML', '---\nname: "a\n---\n## H1 A\n', 'the front matter is not YAML'],
    [
      'a colon in a text of front matter',
      '---\nversion: 1\nname: Hate: ours\n---\n## H1 A\n',
      'p.md:3: the front matter is not YAML: a text with a colon in it needs quotation marks',
    ],
    ['a name of the wrong kind', '---\nversion: 1\nname: [a]\n---\n## H1 A\n', 'p.md:3: front matter: name'],
    ['an id that is too long', `## H1.${'c'.repeat(20)}.${'d'.repeat(20)} A\n`, 'is longer than 32 characters'],
  ])('%s', (_, text, fault) => {
    expect(faults(text).join('\n')).toContain(fault)
  })

  test('a policy of a megabyte, in one line', () => {
    expect(faults('a'.repeat(1_048_576))).toEqual(['p.md: has more than 65536 bytes'])
  })

  test('all faults at once', () => {
    expect(faults('---\nx: 1\n---\n## H1 A\n## H1 B\n')).toHaveLength(2)
  })
})

test('the shipped policies are read, and name the protocol that each is for', () => {
  const shipped = [...loadFiles('policies')].map(([file, text]) => [file, readPolicy(file, text)] as const)
  expect(shipped.map(([file, { protocols }]) => [file, protocols])).toEqual([
    ['hate.md', ['hate']],
    ['safety.md', ['safety']],
  ])
  for (const [, policy] of shipped) expect(policy.leftOut).toEqual([])
})
