// Posts of breaking events, and what becomes of them as they spread: copies that say the same, and changes that do not.

const PLACES = ['Calvera', 'Mirabel', 'Ostrava', 'Tumbes', 'Haldane', 'Kirkenes', 'Pohang', 'Adana', 'Sfax', 'Nara']
/** By language a sentence about a number and a place, which has a negation. */
const SENTENCES: readonly ((number: number, place: string) => readonly [text: string, negated: string])[] = [
  (n, place) => [
    `Police confirm that ${n} people were hurt in the harbor of ${place} this morning`,
    `Police confirm that ${n} people were not hurt in the harbor of ${place} this morning`,
  ],
  (n, place) => [
    `The bridge near ${place} is closed after ${n} trucks collided on it, says the fire service`,
    `The bridge near ${place} isn't closed after ${n} trucks collided on it, says the fire service`,
  ],
  (n, place) => [
    `Die Feuerwehr hat in ${place} schon ${n} Menschen aus dem brennenden Haus gerettet`,
    `Die Feuerwehr hat in ${place} noch keine ${n} Menschen aus dem brennenden Haus gerettet`,
  ],
  (n, place) => [
    `La mairie de ${place} confirme que ${n} personnes sont encore sous les décombres`,
    `La mairie de ${place} ne confirme pas que ${n} personnes sont encore sous les décombres`,
  ],
  (n, place) => [
    `${place} limanındaki yangında ${n} kişi yaralandı ve itfaiye ekipleri geliyor`,
    `${place} limanındaki yangında ${n} kişi yaralandı ve itfaiye ekipleri gelmiyor`,
  ],
  (n, place) => [
    `소방서는 ${place} 항구 화재에서 ${n} 명이 다쳤다고 오늘 아침 밝혔다`,
    `소방서는 ${place} 항구 화재에서 ${n} 명이 다치지 않았다고 오늘 아침 밝혔다`,
  ],
  (n, place) => [
    `قالت الشرطة إن ${n} أشخاص أصيبوا في ميناء ${place} صباح اليوم`,
    `قالت الشرطة إن ${n} أشخاص لم يصابوا في ميناء ${place} صباح اليوم`,
  ],
  (n, place) => [
    `警察によると${place}の港で${n}人が負傷したとのことです`,
    `警察によると${place}の港で${n}人は負傷していないとのことです`,
  ],
  (n, place) => [
    `Полиция подтвердила, что в порту города ${place} пострадали ${n} человек`,
    `Полиция подтвердила, что в порту города ${place} не пострадали ${n} человек`,
  ],
]

export interface PlantedPost {
  readonly text: string
  readonly pictures: readonly string[]
}

/** The nth of any number of posts, no two of which say the same. */
export function plantedPost(nth: number): PlantedPost {
  const [text] = sentenceOf(nth)
  return {
    text: nth % 4 === 1 ? `${text} https://news.example/${nth}/Story` : text,
    pictures: nth % 3 === 1 ? [`https://img.example/${nth}.jpg`] : [],
  }
}

function sentenceOf(nth: number, number = 3 + nth, place = PLACES[nth % PLACES.length] ?? '') {
  return SENTENCES[nth % SENTENCES.length]?.(number, place) ?? (['', ''] as const)
}

/** Ways in which people pass a post on. */
export const COPIES: Readonly<Record<string, (text: string, nth: number) => string>> = {
  exact: (text) => text,
  retweeted: (text, nth) => `RT @reader_${nth}: ${text}`,
  'retweeted twice': (text, nth) => `RT @reader_${nth}: RT @another: ${text}`,
  'to somebody': (text, nth) => `@friend${nth} ${text}`,
  'with emoji': (text) => `🔥🔥 ${text} 🚒`,
  shouted: (text) => text.replace(/^[^:]*?(?=https|$)/, (words) => words.toUpperCase()),
  spaced: (text) => `  ${text.replaceAll(' ', '  ')}\n`,
  excited: (text) => `${text.replace(/(?= https|$)/, ' !!!')}`,
  quoted: (text) => `“${text}”`,
  'with what nobody sees': (text) => text.replace(/ /, ' \u200b'),
  'ending otherwise': (text) => `${text} …`,
}

/** Changes that make another claim of a post, or leave it open. */
export const CHANGES: Readonly<Record<string, (nth: number) => PlantedPost>> = {
  negated: (nth) => ({
    ...plantedPost(nth),
    text: plantedPost(nth).text.replace(sentenceOf(nth)[0], sentenceOf(nth)[1]),
  }),
  'another number': (nth) => changed(nth, sentenceOf(nth, 100_003 + nth)[0]),
  'another place': (nth) => changed(nth, sentenceOf(nth, undefined, PLACES[(nth + 3) % PLACES.length])[0]),
  asked: (nth) => changed(nth, `${sentenceOf(nth)[0]}?`),
  'called false': (nth) => changed(nth, `FALSE: ${sentenceOf(nth)[0]}`),
  'another link': (nth) => ({ ...plantedPost(nth), text: `${sentenceOf(nth)[0]} https://news.example/${nth}/story2` }),
  'another picture': (nth) => ({ ...plantedPost(nth), pictures: [`https://img.example/${nth}-b.jpg`] }),
}

function changed(nth: number, sentence: string): PlantedPost {
  const post = plantedPost(nth)
  return { ...post, text: post.text.replace(sentenceOf(nth)[0], sentence) }
}
