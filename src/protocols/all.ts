// Every protocol, one line each; each is a folder beside this file.
export { counterspeech } from './counterspeech/index.ts'
export { hate } from './hate/index.ts'
export { rumor } from './rumor/index.ts'
export { safety } from './safety/index.ts'
