import { parentPort, workerData } from 'node:worker_threads'
import { answering, type MethodCall } from './halves.ts'

const answer = answering(workerData)

parentPort?.on('message', (asked: MethodCall) => parentPort?.postMessage(answer(asked)))
