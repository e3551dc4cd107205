import './waiting.test.ts'
