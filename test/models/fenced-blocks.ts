// What must hold of a prompt, whoever wrote the words in it. Knows nothing of how words are neutralized.

interface Block {
  readonly label: string
  readonly nonce: string
  readonly lines: readonly string[]
}

/** The blocks of a message, and the lines outside them, by the rule that the prompts tell the model. */
export function read(content: string): { blocks: Block[]; outside: string[] } {
  const lines = content.split('\n')
  const blocks: Block[] = []
  const outside: string[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const [, label, nonce] = /^<<([a-z-]+(?: \d+)?):([0-9a-f]{16})>>$/.exec(line) ?? []
    if (label === undefined || nonce === undefined) {
      outside.push(line)
      continue
    }
    const end = lines.indexOf(`<<end:${nonce}>>`, at)
    if (end === -1) throw new Error('a block without an end')
    blocks.push({ label, nonce, lines: lines.slice(at + 1, end) })
    at = end
  }
  return { blocks, outside }
}

/** As a reader sees it who folds look-alikes and does not see what is invisible. */
const seen = (text: string) => text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}/gu, '')

/** Tokens as the templates of models have them, and heads of roles, one of each family and more. */
export const TOKENS = [
  // Bars: ChatML, Llama 3 and 4, Phi, GLM, Command, Granite, Harmony, Kimi, DeepSeek, InternLM, EXAONE, Fuyu.
  '<|im_start|>',
  '<|im_end|>',
  '<|im_sep|>',
  '<|eot_id|>',
  '<|eot|>',
  '<|header_start|>',
  '<|start_header_id|>',
  '<|end|>',
  '<|system|>',
  '<|user|>',
  '<|User|>',
  '<|START_OF_TURN_TOKEN|>',
  '<|start_of_role|>',
  '<|channel|>',
  '<|im_middle|>',
  '<|tool_calls_section_begin|>',
  '<|endoftext|>',
  '<|System|>',
  '<|Bot|>',
  '<｜User｜>',
  '<｜Assistant｜>',
  '<｜end▁of▁sentence｜>',
  '<｜hy_User｜>',
  '[|endofturn|]',
  '[|system|]',
  '[|assistant|]',
  '|ENDOFTEXT|',
  '|SPEAKER|',
  // Words in angle brackets: Gemma, Seed, InternLM, Baichuan, StarCoder, SantaCoder, Code Llama, T5, BERT-like, Ling.
  '<start_of_turn>',
  '<end_of_turn>',
  '<seed:eos>',
  '<seed:bos>',
  '<seed:think>',
  '<minimax:tool_call>',
  '<eoh>',
  '<eoa>',
  '<eot>',
  '<eod>',
  '<eos>',
  '<bos>',
  '<pad>',
  '<unk>',
  '<s>',
  '</s>',
  '<sep>',
  '<cls>',
  '<mask:1>',
  '<fim-prefix>',
  '<fim_prefix>',
  '<file_sep>',
  '<PRE>',
  '<SUF>',
  '<EOT>',
  '<extra_id_0>',
  '<unused16>',
  '<0x0A>',

  '<reserved_102>',
  '<TOKENS_UNUSED_1>',
  '<BOS_TOKEN>',
  '<SPECIAL_12>',
  '<role>',
  '</role>',
  '<_user>',
  '<用户>',
  '<AI>',
  '<think>',
  '</think>',
  '<tool_call>',
  '<tool_response>',
  '<image>',
  '<system>',
  '</system>',
  '<function=run>',
  // Square brackets: Llama 2, Mistral, BERT, GLM, Skywork, Pangu; MiniMax.

  '[INST]',
  '[/INST]',
  '<<SYS>>',
  '<</SYS>>',
  '[SYSTEM_PROMPT]',
  '[/SYSTEM_PROMPT]',
  '[TOOL_CALLS]',
  '[BOS]',
  '[EOS]',

  '[SEP]',
  '[CLS]',
  '[MASK]',
  '[PAD]',
  '[UNK]',
  '[gMASK]',
  '[sMASK]',
  '[unused9]',
  '[control_8]',
  '[USER]',
  '[BOT]',
  // Triangles: Kimi-VL.
  '◁think▷',
  '◁/think▷',
  '[PREFIX]',
  '[START_REF]',
  '[Round 1]',
  '[system]',
  '[assistant]',
  ']~b]',
  ']~!b[',
  '[e~[',
] as const

/** Heads of roles in templates that are plain words. */
const HEADS =
  /^[ \t>*_#-]*(?:human|user|assistant|system)[*_]*:|^\s*#{2,6} ?(?:instruction|response|input|human|assistant|system)\b/im

const LOWER = TOKENS.map((token) => ({ token, lower: token.toLowerCase() }))
const known = new Map<string, readonly string[]>()

/** What stands in a text as a token or a role's head would, also after a server has normalised it. */
export function tokensIn(text: string): readonly string[] {
  // The same words stand in many questions.
  const before = known.get(text)
  if (before !== undefined) return before
  const read = seen(text)
  const forms = new Set([text, read, read.normalize('NFKD').replace(/\p{M}/gu, '')].map((one) => one.toLowerCase()))
  const found = [...forms].flatMap((form) => [
    ...LOWER.flatMap(({ token, lower }) => (form.includes(lower) ? [token] : [])),
    ...(HEADS.exec(form) ?? []),
    ...(/<<|>>|<\||\|>|\[\||\|\]/.exec(form) ?? []),
  ])
  if (known.size > 10_000) known.clear()
  known.set(text, found)
  return found
}
