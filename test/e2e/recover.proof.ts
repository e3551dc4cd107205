import './recover.test.ts'
