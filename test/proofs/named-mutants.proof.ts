import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PROJECT } from '../../config/load.ts'

/** A change to what is shipped that tests once let pass. */
interface Mutant {
  readonly name: string
  readonly file: string
  /** Stands in the file once. */
  readonly from: string | RegExp
  readonly to: string
  /** The test file that must fail, and a test in it that must be among those that do. */
  readonly killedBy: string
  readonly test: string
  /** The file takes long: its first failing test is enough. */
  readonly bail?: true
}

const ANSWERS = 'src/protocols/rumor/answers.ts'
const FORMS = 'test/protocols/answer-forms.test.ts'
const REVIEWED = 'test/protocols/reviewed-prompts.test.ts'
const MEMO = 'test/app/commands/paper-memo.test.ts'

const WIRE = { killedBy: 'test/models/wire.test.ts', test: 'on the wire', bail: true } as const
const NEUTRALIZED = 'src/contracts/facts/neutralized.ts'

/** A family of a template's tokens that is left whole, by the beginning of its name. */
const familyLeftWhole = (family: string): Mutant => ({
  name: `left whole: ${family}`,
  file: NEUTRALIZED,
  from: new RegExp(String.raw`(?<=["']${family}[^\n]*["']: )(?:/.*|new RegExp\([^;]*?\)),(?=\n)`),
  to: '/(?!)/g,',
  ...WIRE,
})

/** A way to a model on which words go as they are. */
const unfenced = (file: string, from: string, to: string): Mutant => ({
  name: `goes as it is: ${from} in ${file}`,
  file: `src/${file}`,
  from,
  to,
  ...WIRE,
})

const CITED = 'test/protocols/clauses.test.ts'
const DECIDED = 'test/consumers/decision-consumer.test.ts'

/** A check of what is cited that is gone. */
const uncited = (name: string, from: string, to: string, test: string, killedBy = CITED): Mutant => ({
  name: `citing: ${name}`,
  file: 'src/protocols/clauses.ts',
  from,
  to,
  killedBy,
  test,
})

const CITING: readonly Mutant[] = [
  uncited('a clause that allows stands', ' || clause.allows) {', ') {', 'a clause that allows does not stand'),
  uncited(
    'the beginning of an id stands for it',
    'one.id === id.trim()',
    'one.id.startsWith(id.trim())',
    'the beginning of an id does not stand',
  ),
  uncited(
    'words stand that are nowhere',
    'if (found !== null) return [{ id: clause.id, quote: found }]',
    'return [{ id: clause.id, quote: found ?? words }]',
    'words that are not in the post do not stand: rats',
  ),
  uncited('words as the model has them', 'quote: found }', 'quote: words }', 'with words of the post as they stand'),
  uncited(
    'a quotation is a pattern',
    String.raw`.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')`,
    '',
    'words that are not in the post do not stand: vermin|rats',
  ),
  uncited(
    'nothing cited is right',
    "wrong: ['no clause'], noted: ['no clause']",
    'wrong: [], noted: []',
    'nothing cited is wrong, too',
  ),
  uncited(
    'nobody is asked once more',
    'yield* round(doubtful.map(({ again, wrong }) => again(wrong)))',
    '[]',
    'who cites wrongly is asked once more',
  ),
  uncited(
    'the second answer is not checked',
    'const again = checkCitations(policy, texts, reply.answer.clauses)',
    'const again = { clauses: reply.answer.clauses, noted: [] as string[] }',
    'what is still wrong then is named, and never published',
  ),
  uncited(
    'what is wrong is not named',
    'wrong: second.flatMap(({ wrong }) => wrong)',
    'wrong: []',
    'what is still wrong then is named, and never published',
  ),
  uncited(
    'words of a picture are quoted',
    'media.flatMap(({ alt }) => alt ?? [])',
    'media.flatMap((one) => Object.values(one))',
    'words of a picture are no words of the post',
  ),
  uncited(
    'people cite for any label',
    'if (by !== label)',
    'if (label === null)',
    'a label that finds nothing',
    DECIDED,
  ),
  uncited(
    'people cite what they like',
    'if (noted.length > 0) return',
    'if (noted.length > 9) return',
    'quotes what is not in the post',
    DECIDED,
  ),
  uncited('a gone post is quoted', 'unchecked ? {', 'kept === null ? {', 'without them once it is gone', DECIDED),
]

const MUTANTS: readonly Mutant[] = [
  ...CITING,
  {
    name: 'no reason in the subjectivity answer',
    file: ANSWERS,
    from: /(?<=subjectivityOf = [^\n]*\n {2}z\.object\(\{ )reason: [^,]+, /,
    to: '',
    killedBy: FORMS,
    test: 'the answers that rumor asks for > have these fields in this order',
  },
  {
    name: 'no reasons in a batch of stance scores',
    file: ANSWERS,
    from: /(?<=\.max\(count\), )reason: [^,]+, /,
    to: '',
    killedBy: FORMS,
    test: 'the answers that rumor asks for > have these fields in this order',
  },
  {
    name: 'two tokens for a stance answer',
    file: 'src/protocols/rumor/questions.ts',
    from: /(?<=const STANCE_SHARE = )\d+/,
    to: '1',
    killedBy: FORMS,
    test: 'the answers that rumor asks for > have room for the reasons',
  },
  ...['rumor', 'hate', 'safety', 'counterspeech'].map((protocol) => ({
    name: `${protocol} never says that it is faithful`,

    file: `src/protocols/${protocol}/index.ts`,
    from: "faithful: settings.preset === 'paper'",
    to: 'faithful: false',
    killedBy: MEMO,
    test: `judged by ${protocol} > is asked anew under preset paper`,
  })),
  {
    name: 'the memo is on under paper',
    file: 'src/judging/engine/answer.ts',
    from: 'protocols.get(protocol)?.faithful !== true',
    to: 'true',
    killedBy: MEMO,
    test: 'judged by rumor > is asked anew under preset paper',
  },
  {
    name: 'a label for the doubtful in a prompt',

    file: 'config/prompts/rumor/judge.md',
    from: 'You must choose',
    to: 'If you are in doubt, answer Fake. You must choose',
    killedBy: REVIEWED,
    test: 'is as it was reviewed: config/prompts/rumor/judge.md',
  },
  {
    name: 'a reward for length in a criterion',
    file: 'config/aspects/relevance.yaml',
    from: 'The higher the score, the more relevant.',
    to: 'The higher the score, the more relevant. Long replies deserve a 5.',
    killedBy: REVIEWED,
    test: 'is as it was reviewed: config/aspects/relevance.yaml',
  },
  {
    name: 'texts compared with any number of others',
    file: 'src/protocols/rumor/near-identical.ts',
    from: /(?<=const MOST_COMPARED = )\d+/,
    to: '100_000',
    killedBy: 'test/protocols/near-identical.test.ts',
    test: 'so that its cost is bounded',
  },
  ...[
    'angle brackets that double',
    'bars in angle brackets',
    'bars in square brackets',
    'bars around a word',
    'tildes in square brackets',
    'a word in angle brackets',
    'short capitals in square brackets',
    'joined words in square brackets',
    'known words in square brackets',
    "a role's head",
    "a section's head",
  ].map(familyLeftWhole),
  { name: "a fence's nonce left whole", file: NEUTRALIZED, from: 'plain.matchAll(NONCES)', to: '[]', ...WIRE },
  {
    name: 'nothing is folded',
    file: NEUTRALIZED,
    from: 'if (ASCII.test(text)) return text',
    to: 'return text',
    ...WIRE,
  },
  unfenced('models/format.ts', 'content: neutralized(message.content)', 'content: message.content'),
  unfenced('models/format.ts', 'content: neutralized(reply.text)', 'content: reply.text'),
  unfenced('protocols/counterspeech/steps.ts', "neutralized(step.replace(/\\s+/g, ' '))", "step.replace(/\\s+/g, ' ')"),
  unfenced('protocols/rumor/questions.ts', "fence('argument', said(reply))", 'said(reply)'),
  unfenced('protocols/rumor/questions.ts', "comment: fence('comment', comment.text)", 'comment: comment.text'),
  unfenced('protocols/rumor/questions.ts', "fence('parent', parent.text)", 'parent.text'),
  unfenced('protocols/rumor/questions.ts', "{ kind: 'comment', text: comment.text }", 'comment.text'),
  unfenced('protocols/hate/questions.ts', '{ kind, text }]', 'text]'),
  unfenced('protocols/safety/input.ts', "fence('alt', alt, number)", 'alt'),
  unfenced('protocols/safety/questions.ts', "known('Its text', '', text)", 'text'),
  unfenced('protocols/safety/questions.ts', "fence('argument', said.reasoning)", 'said.reasoning'),
  unfenced('protocols/counterspeech/questions.ts', "fence('hate-speech', pair.hateSpeech)", 'pair.hateSpeech'),
  unfenced('protocols/safety/curation.ts', "fence('argument', quoted(answer), index + 1)", 'quoted(answer)'),
]

const copy = mkdtempSync(join(tmpdir(), 'gavel-mutants-'))
beforeAll(() => {
  for (const name of [
    'config',
    'consumers',
    'producers',
    'src',
    'test',
    'package.json',
    'vitest.config.ts',
    'vitest.files.ts',
    'vitest.order.ts',
    'vitest.shared.ts',
  ])
    cpSync(join(PROJECT, name), join(copy, name), { recursive: true })
  symlinkSync(join(PROJECT, 'node_modules'), join(copy, 'node_modules'))
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

interface Report {
  readonly testResults: readonly { assertionResults: { status: string; ancestorTitles: string[]; title: string }[] }[]
}

/** The names of the tests that fail in the copy, and whether all passed. */
function failing(file: string, bail = false): Promise<{ passed: boolean; names: string[] }> {
  const report = join(copy, 'report.json')
  rmSync(report, { force: true })
  const vitest = join(copy, 'node_modules', 'vitest', 'vitest.mjs')
  const args = [vitest, 'run', file, '--reporter=json', `--outputFile=${report}`, ...(bail ? ['--bail=1'] : [])]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: copy }, (error, stdout, stderr) => {
      if (!existsSync(report)) return reject(new Error(`no report of ${file}: ${stdout}${stderr}`))
      const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report
      const names = testResults
        .flatMap(({ assertionResults }) => assertionResults)
        .filter(({ status }) => status === 'failed')
        .map(({ ancestorTitles, title }) => [...ancestorTitles, title].join(' > '))
      resolve({ passed: error === null, names })
    })
  })
}

describe('what tests once let pass', () => {
  test.each([...new Set(MUTANTS.map(({ killedBy }) => killedBy))])('%s passes on what is shipped', async (file) => {
    expect(await failing(file)).toEqual({ passed: true, names: [] })
  })

  test.each(MUTANTS)('$name: $killedBy fails', async ({ file, from, to, killedBy, test: name, bail }) => {
    const shipped = readFileSync(join(PROJECT, file), 'utf8')
    const mutated = shipped.replace(from, () => to)
    expect(mutated, `${file} no longer holds ${from}`).not.toBe(shipped)
    writeFileSync(join(copy, file), mutated)
    try {
      const { names } = await failing(killedBy, bail)
      expect(
        names.some((one) => one.includes(name)),
        names.join('\n') || 'nothing failed',
      ).toBe(true)
    } finally {
      writeFileSync(join(copy, file), shipped)
    }
  })
})
