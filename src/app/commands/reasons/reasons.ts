import { Option } from 'commander'
import type { Command } from '../../../cli/command.ts'
import { printable } from '../../../cli/terminal.ts'
import { OperatorError } from '../../../contracts/facts/errors.ts'
import { recordReaderOf } from '../../../record/record-store.ts'
import { type Statement, statementOf, untilWithdrawn } from '../../../record/statement.ts'
import { actionOf, basisOf } from '../../../record/statement-basis.ts'
import { dsaForm, type StatementTexts, statementText } from '../../../record/statement-forms.ts'
import { STATEMENT_LANGUAGES, type StatementLanguage } from '../../../record/statement-words.ts'
import { statementTexts } from '../../composition/statement-texts.ts'

interface Options {
  readonly format: 'text' | 'json' | 'dsa'
  readonly lang: StatementLanguage
  readonly tenant: string
}

interface Stated {
  readonly statement: Statement
  readonly texts: StatementTexts
}

/** Of `gavel reasons` and `gavel reasons appeal`. */
export const TENANT_OPTION = new Option('--tenant <name>', 'the tenant of the id').default('default')

/** Of all commands of `gavel reasons`. */
export const LANGUAGE_OPTION = new Option('--lang <lang>', 'its language').choices(STATEMENT_LANGUAGES).default('en')

/** `gavel reasons`: the statement of reasons for one action. */
export const command: Command<Options, Stated> = {
  options: [
    new Option('--format <format>', 'as people read it, its fields, or the form of the EU’s Transparency Database')
      .choices(['text', 'json', 'dsa'])
      .default('text'),
    LANGUAGE_OPTION,
    TENANT_OPTION,
  ],
  json: false,
  help: 'It has ids, dates and words of the map alone: no word of the post, of models or of people. See docs/reasons.md.\n\nExamples:\n  $ gavel reasons act-1\n  $ gavel reasons act-1 --format dsa',
  async run({ args: [id = ''], options: { lang, tenant }, settings: read, terminal }) {
    const settings = read()
    const texts = statementTexts(lang, settings.review.statements)
    const record = await recordReaderOf(settings)
    try {
      const found = await actionOf(record, tenant, id)
      if (found === null)
        throw new OperatorError(`The record has no action ${printable(id, 200)} (tenant ${printable(tenant, 100)}).`)
      if (found.isWithdrawn) terminal.say('The action was withdrawn: it is no longer in force.')
      const statement = statementOf(await basisOf(record, found.action), texts.map)
      if ('puid' in statement) return { statement: untilWithdrawn(statement, found.withdrawnAt), texts }
      throw new OperatorError(`No statement of ${printable(id, 200)}: ${printable(statement.join('; '), 1_000)}.`)
    } finally {
      await record.close()
    }
  },
  print({ statement, texts }, { terminal, options: { format } }) {
    if (format === 'text') terminal.out(statementText(statement, texts).trimEnd())
    else {
      const form = format === 'json' ? statement : dsaForm(statement, texts)
      if (!('puid' in form)) throw new OperatorError(`It breaks rules of the database: ${form.join('; ')}.`)
      terminal.out(JSON.stringify(form))
    }
  },
}
