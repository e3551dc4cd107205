import './stop.test.ts'
