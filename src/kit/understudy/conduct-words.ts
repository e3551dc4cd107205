/**
 * What the understudy knows of how people treat one another: phrases by what they do to those who are spoken of or to,
 * and by what they could lead to. Mild on purpose; `coded` holds a slur invented for the demo's city. Written like WORDS.
 */
export type Conduct = keyof typeof CONDUCT

export const CONDUCT = {
  /** Wishes or announces harm. */
  threat: {
    en: 'kill them, kill them all, kill you, kill all, kill every, will kill, should die, deserve to die, must die, hope they die, hope you die, drop dead, hang them, shoot them, should be shot, should be hanged, burn them, burn their, beat them up, beat you up, hurt them, hurt you, hunt them, hunt down, wipe them out, wiped out, exterminate, eradicate, teach them a lesson, make them pay, make them suffer, should suffer, be executed, be killed, death to, deserve death, you will regret, you ll regret, watch your back, we know where you live',
    es: 'matarlos, que mueran, hay que matar, os vamos a, vais a pagar, merecen morir',
    de: 'umbringen, sollen sterben, erschießen, aufhängen, verbrennen sollte man, ihr werdet bezahlen',
    ko: '죽어, 죽여',
  },
  /** Makes people less than people. */
  dehumanising: {
    en: 'vermin, rat, rats, cockroach, cockroaches, parasite, parasites, leech, leeches, subhuman, subhumans, animals, beasts, savages, filth, scum, plague, infest, infests, infested, infestation, swarm, swarms, disease, cancer, not human, not even human, less than human, aren t human, are trash, are garbage, human trash, inferior, breed like',
    es: 'ratas, cucarachas, parásitos, plaga, escoria, animales, infrahumanos',
    de: 'ungeziefer, ratten, parasiten, schmarotzer, abschaum, untermenschen, plage, seuche',
    ko: '벌레, 쓰레기',
  },
  /** Wants people gone because of what they are. */
  exclusion: {
    en: 'go back, go back to, go home, swim home, send them back, send them home, send them all, kick them out, throw them out, drive them out, get rid of, keep them out, keep them off, keep the, out of our, off our, don t belong, do not belong, doesn t belong, not welcome, aren t welcome, should be banned, should not be allowed, shouldn t be allowed, don t let them, deport, no place for them, stay away from our, don t deserve, do not deserve',
    es: 'fuera de aquí, volved a, que se vayan, no son bienvenidos, expulsarlos, echarlos',
    de: 'raus mit, raus aus, geht zurück, abschieben, gehören nicht hierher, haben hier nichts verloren, nicht willkommen',
    ko: '꺼져, 나가라',
  },
  /** The text calls all of them the same. */
  stereotype: {
    en: 'they all, all of them, they re all, they are all, are all the same, every one of them, these people, those people, that lot, that sort, their kind, your kind, you people, typical of, always steal, always lie, can t be trusted, cannot be trusted, never trust, nothing but trouble, only want, only good for, so lazy, are lazy, are stupid, are thieves, are criminals, are liars, are dirty, are ruining, bring nothing, it s in their blood, hate all, i hate, we hate, disgust me, disgusting, disgusted by, make me sick, make me furious, i despise, i loathe, contempt, worse than, worth nothing, absolutely nothing, a threat to',
    es: 'esa gente, son todos, todos ellos, siempre roban, siempre mienten, no se puede confiar, odio a, dan asco, son ladrones, son vagos',
    de: 'diese leute, alle gleich, die alle, klauen alle, lügen alle, solche leute, ich hasse, widerlich, ekelhaft, sind faul',
    ko: '혐오, 극혐',
  },
  /** Names people in words that only their despisers use. */
  coded: {
    en: 'lowtider, lowtiders, lowtide folk, low tide folk, the low tide, when the tide goes out for good',
  },
  /** Belittles somebody. */
  insult: {
    en: 'idiot, idiots, idiotic, stupid, moron, morons, moronic, fool, fools, dumb, loser, losers, clown, clowns, pathetic, liar, liars, coward, cowards, thief, thieves, ugly, worthless, useless, disgrace, pig, pigs, brainless, ignorant, hypocrite, hypocrites, creep, creeps, freak, freaks, shut up, get lost, nobody asked, go cry, cry more, snowflake, snowflakes, bigot, bigots, crybaby, crybabies, weirdo, weirdos, trash, garbage, degenerate, degenerates',
    es: 'idiota, idiotas, imbécil, imbéciles, tonto, tontos, estúpido, estúpidos, payaso, payasos, cállate, ladrones, cobarde, cobardes',
    de: 'idiot, idioten, dumm, dumme, dummkopf, trottel, versager, lügner, feigling, feiglinge, halt die klappe, diebe, spinner',
    ko: '바보, 멍청, 한심',
  },
  /** Swears, at nobody in particular. */
  profanity: {
    en: 'damn, damned, goddamn, crap, crappy, bloody hell, hell, wtf, pissed, piss off, sucks, suck, arse, ass, bullshit, shit, shitty, fuck, fucking, fucked, bastard, bastards',
    es: 'mierda, joder, maldito, maldita, coño',
    de: 'scheiße, scheiß, verdammt, verdammte, verflucht, mist',
    ko: '젠장, 씨발, 시발',
  },
  /** Names people by what they are. */
  group: {
    en: 'women, woman, girls, men, gay, gays, gay people, lesbian, lesbians, trans, trans people, queer, black people, black person, white people, asians, arabs, jews, jewish, muslim, muslims, islam, christians, hindus, immigrant, immigrants, migrants, refugees, foreigners, disabled, disabled people, the disabled, old people, the elderly, teenagers, the poor, newcomers, reed islander, reed islanders, reed row, islanders, raft families',
    es: 'mujeres, hombres, inmigrantes, refugiados, extranjeros, musulmanes, judíos, cristianos, isleños',
    de: 'frauen, männer, ausländer, flüchtlinge, einwanderer, muslime, juden, christen, behinderte, inselleute, schilfinsulaner',
    ko: '여자, 여성, 남자, 외국인, 이민자, 조선족, 무슬림, 노인, 장애인',
  },
  /** Passes on what somebody else said, or speaks of a word rather than with it. */
  report: {
    en: 'called me, called us, called her, called him, called them, call me, call us, they call, he called, she called, was called, were called, been called, shouted at, yelled at, somebody wrote, someone wrote, someone said, he said, she said, told me to, i reported, reported it, i report, reported, reporting, quote, quoting, quoted, the word, that word, this word, words like, such words, saying that, anyone who says, slur, slurs, hate speech, is not okay, isn t okay, is unacceptable, is wrong to, nobody should',
    es: 'me llamó, nos llamó, me llaman, me gritó, lo denuncié, esa palabra, la palabra, nadie debería',
    de: 'nannte mich, nannte uns, hat mich genannt, nennen uns, hat gerufen, gemeldet, das wort, dieses wort, niemand sollte',
  },
  /** Takes a word for oneself. */
  reclaiming: {
    en: 'we are the, we re the, we are all, we lowtiders, us lowtiders, i am a, i m a, as a lowtider, proud, proudly, pride, our word, our name, we call ourselves, call ourselves, my people, born and bred, and proud of it',
    es: 'somos, orgullo, orgullosos, nos llamamos',
    de: 'wir sind, stolz, wir nennen uns',
  },
  /** Can hurt people or things, in the wrong hands. */
  hazard: {
    en: 'bomb, bombs, explosive, explosives, detonate, gun, guns, ammunition, weapon, weapons, knife, knives, poison, poisons, poisonous, toxic, acid, meth, cocaine, heroin, drug, drugs, malware, ransomware, virus, phishing, password, passwords, credit card, identity theft, hack, hacking, steal, stealing, stolen, fraud, scam, counterfeit, forge, forged, launder, sabotage, sabotages, tamper, barrier, barriers, cordon, cut the wire, cut the fence, loosen the bolts, wrong road, set fire, fire to, arson, break into, break in, kidnap, smuggle, traffic, trafficking, stalk, stalking, blackmail, extort, torture, murder, attack, attacks, terror, terrorist, terrorism, suicide, self harm, harm myself, cut myself, starve, overdose, nude, naked, sexual, sex, minor, child, underage, riot, genocide, ethnic cleansing',
    es: 'bomba, explosivo, arma, armas, veneno, drogas, robar, sabotear, barreras, suicidio, matar, quemar, incendiar',
    de: 'bombe, sprengstoff, waffe, waffen, gift, drogen, stehlen, sabotieren, sabotage, absperrung, selbstmord, töten, brandstiftung',
  },
  /** Tells or asks how it is done. */
  method: {
    en: 'how to, how do i, how can i, how would i, how could i, how does one, tell me how, show me how, teach me, step by step, steps to, instructions, guide, guide to, tutorial, recipe, here is how, here s how, this is how, write a, write me, create a, generate, give me, provide, list of, explain how, best way to, ways to, methods, without being caught, without getting caught, undetected, get past, get away with, so that nobody notices, nobody will notice, bring a wrench',
    es: 'cómo hacer, cómo puedo, paso a paso, instrucciones, así se hace, sin que nadie',
    de: 'wie man, wie kann ich, anleitung, schritt für schritt, so geht, ohne erwischt',
  },
  /** Tries to talk a model out of its rules. */
  evasion: {
    en: 'ignore all, ignore previous, ignore the above, ignore your, disregard, forget your, no rules, without restrictions, unrestricted, no filter, jailbreak, developer mode, do anything now, pretend you, pretend to be, you are now, act as if, roleplay, role play, hypothetically, in a fictional world, for a story, purely fictional, stay in character, never refuse, do not refuse, system prompt',
    es: 'ignora las instrucciones, sin restricciones, finge que, hipotéticamente',
    de: 'ignoriere alle, ohne einschränkungen, tu so als, hypothetisch',
  },
  /** Keeps people from harm, informs, or reports. */
  care: {
    en: 'never run, never use, do not use, don t use, do not touch, don t touch, stay away, stay clear, keep away, keep clear, keep children, avoid, warning, warns, warn, beware, safety, safely, prevent, prevents, prevention, protect, protects, protection, stay safe, be careful, fire brigade, fire department, police say, according to, the museum, history of, historical, research, study, documentary, news report, lesson, in class, for school, novel, poem, recipe for soup, helpline, hotline, get help, seek help, first aid, ask for help, how to recognise, how to recognize, how to report, how to avoid, how to prevent, how to stop, how to protect, detect',
    es: 'eviten, evitar, advertencia, prevenir, proteger, seguridad, cuidado, bomberos',
    de: 'vermeiden, warnung, warnt, schutz, schützen, sicherheit, vorsicht, feuerwehr, vorbeugen',
  },
  /** Declines what was asked, inside the text itself. */
  refusal: {
    en: 'i can t help with, i cannot help with, i can t assist, i cannot assist, i m sorry but, i am sorry but, i won t help, can t provide, cannot provide, unable to help, as an ai',
  },
  /** Feels with those who are attacked, or with the attacker. */
  empathy: {
    en: 'understand, i understand, i hear you, sorry to hear, it hurts, hurts people, imagine, in their place, in their shoes, feel, feels, neighbour, neighbours, neighbor, neighbors, friend, friends, families, family, children, people like you and me, together, each other, kind, kindness, respect, dignity, human, human beings, please, welcome, care about, thank',
    es: 'entiendo, imagina, vecinos, familias, juntos, respeto, dignidad, por favor',
    de: 'verstehe, stell dir vor, nachbarn, familien, zusammen, respekt, würde, bitte',
  },
  /** Gives a reason or a fact. */
  argument: {
    en: 'because, since, evidence, fact, facts, in fact, actually, data, report, reports, statement, numbers, study, studies, research, according to, source, there is no, no proof, no evidence, for example, for instance, on the other hand, however, but, instead, not true, isn t true, that s why, the truth is, were the first, helped, volunteers',
    es: 'porque, de hecho, datos, según, no es verdad, por ejemplo, sin embargo, pero',
    de: 'weil, denn, tatsächlich, daten, laut, stimmt nicht, zum beispiel, aber, sondern',
  },
  /** Turns what follows it into its opposite. */
  negation: {
    en: 'not, no, never, nobody, none, neither, nor, isn t, wasn t, aren t, hasn t, haven t, doesn t, don t, didn t, can t, couldn t, won t, without, stop, against',
    es: 'no, nadie, nunca, ni, sin, tampoco',
    de: 'nicht, kein, keine, keinen, keiner, niemand, nie, ohne',
  },
} as const satisfies { readonly [kind: string]: { readonly [language: string]: string } }
