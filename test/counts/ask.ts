import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Profiler } from 'node:inspector'
import { Session } from 'node:inspector/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { PROJECT } from '../../config/load.ts'
import { startModelServer } from '../support/model-server.ts'
import { askOnce } from './one-ask.ts'

/** A function of the project, by where it begins. */
export interface Frame {
  readonly name: string
  readonly file: string
  readonly line: number
}

/** One ask, from the engine's `answer` to the model's HTTP call and back, as it ran. */
export interface AskCount {
  /** On the stack when the request is made, outermost first. */
  readonly frames: readonly Frame[]
  /** Named types of the project in what these functions take and return, without those that hold their parts. */
  readonly types: readonly string[]
  /** All functions of `src/` that run meanwhile, and the files that these are in. */
  readonly functions: readonly string[]
  readonly files: readonly string[]
}

/** Counts one ask as it runs over the memory stores, with memo, budgets and limits on, and asks a server on loopback. */
export async function countAsk(): Promise<AskCount> {
  const { result: frames, ran } = await whatRuns(framesOfCall, /^src\//)
  return { frames, types: typesOf(frames), ...ran }
}

/** The functions, and the files that these are in, that run from when `work` calls what it is given until it ends. */
export async function whatRuns<Result>(
  work: (begin: () => Promise<void>) => Promise<Result>,
  files: RegExp,
): Promise<{ result: Result; ran: Pick<AskCount, 'functions' | 'files'> }> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  try {
    const result = await work(async () => {
      await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
    })
    const { result: covered } = await session.post('Profiler.takePreciseCoverage')
    const ran = covered
      .map(({ url, functions }) => ({ file: fileOf(url), functions }))
      .filter(({ file }) => files.test(file))
      .map(({ file, functions }) => ({ file, names: functions.filter(hasRun).map(({ functionName }) => functionName) }))
      .filter(({ names }) => names.length > 0)
    const functions = ran.flatMap(({ file, names }) => names.map((name) => `${file} ${name}`))
    return { result, ran: { functions, files: ran.map(({ file }) => file) } }
  } finally {
    session.disconnect()
  }
}

/** The functions of `src/` on the stack when an ask's request is made, the outermost first. */
export async function framesOfCall(begin: () => Promise<void> = async () => {}): Promise<Frame[]> {
  const server = await startModelServer(() => ({ word: 'yes' }))
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 100
  let stack = ''
  const note = () => {
    stack = String(new Error('here').stack)
  }
  subscribe('http.client.request.created', note)
  try {
    await askOnce(server.settings.OPENAI_BASE_URL, begin)
  } finally {
    unsubscribe('http.client.request.created', note)
    Error.stackTraceLimit = stackTraceLimit
    await server.close()
  }
  return stack
    .split('\n')
    .flatMap((line) => {
      const [, name = '', at = '', row = ''] =
        /^\s+at (?:async )?(?:(?:Object\.)?(\S+)(?: \[as \w+\])? \()?(\/.*?|file:.*?):(\d+):\d+\)?$/.exec(line) ?? []
      const file = fileOf(at)
      return file.startsWith('src/') ? [{ name, file, line: Number(row) }] : []
    })
    .reverse()
}

function fileOf(place: string): string {
  if (place.startsWith('file:')) return relative(PROJECT, fileURLToPath(place))
  return place.startsWith('/') ? relative(PROJECT, place) : ''
}

/** Whether a function ran, and is no module. */
function hasRun({ ranges: [whole] }: Profiler.FunctionCoverage): boolean {
  return whole !== undefined && whole.count > 0 && whole.startOffset > 0
}

/** What holds a function's parts or settings, and is no form of the ask. */
const PARTS = /(?:Parts|State|Settings)$/

/** The types that functions take and return, by their names; an object type without a name by its fields. */
export function typesOf(frames: readonly Frame[]): string[] {
  const program = ts.createProgram([...new Set(frames.map(({ file }) => join(PROJECT, file)))], {
    allowImportingTsExtensions: true,
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.NodeNext,
  })
  const checker = program.getTypeChecker()
  const found = new Set<string>()
  const seen = new Set<ts.Type>()
  const note = (type: ts.Type): void => {
    if (seen.has(type) || (type.flags & ts.TypeFlags.TypeParameter) !== 0) return
    seen.add(type)
    const symbol = type.aliasSymbol ?? type.symbol
    const [declared] = symbol?.declarations ?? []
    const name = symbol?.name ?? ''
    const isOwn = declared !== undefined && relative(PROJECT, declared.getSourceFile().fileName).startsWith('src/')
    if (isOwn && !name.startsWith('__')) {
      if (!PARTS.test(name) && !ts.isFunctionLike(declared)) found.add(name)
      return
    }
    if (type.isUnionOrIntersection()) type.types.forEach(note)
    for (const one of type.aliasTypeArguments ?? []) note(one)
    if ((type.flags & ts.TypeFlags.Object) !== 0) checker.getTypeArguments(type as ts.TypeReference).forEach(note)
  }
  const noteNames = (written: ts.Node): void => {
    if (ts.isTypeLiteralNode(written)) found.add(`{ ${written.members.map(({ name }) => name?.getText()).join(', ')} }`)
    if (ts.isTypeReferenceNode(written)) {
      const symbol = checker.getSymbolAtLocation(written.typeName)
      const named = symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      const [declared] = named?.declarations ?? []
      const isOwn = declared !== undefined && relative(PROJECT, declared.getSourceFile().fileName).startsWith('src/')
      if (isOwn && !ts.isTypeParameterDeclaration(declared) && !PARTS.test(named?.name ?? ''))
        found.add(named?.name ?? '')
    }
    ts.forEachChild(written, noteNames)
  }
  for (const { file, line } of frames) {
    const source = program.getSourceFile(join(PROJECT, file))
    if (source === undefined) continue
    const at = source.getPositionOfLineAndCharacter(line - 1, 0)
    let around: ts.SignatureDeclaration | undefined
    const look = (node: ts.Node): void => {
      if (node.pos > at || node.end < at) return
      if (ts.isFunctionLike(node)) around = node
      ts.forEachChild(node, look)
    }
    look(source)
    if (around === undefined) continue
    // By the names that are written, too: a union's is not seen in what it stands for.
    for (const written of [...around.parameters, around.type]) if (written !== undefined) noteNames(written)
    const signature = checker.getSignatureFromDeclaration(around)
    for (const one of around.parameters) note(checker.getTypeAtLocation(one))
    if (signature !== undefined) note(signature.getReturnType())
  }
  return [...found].sort()
}
