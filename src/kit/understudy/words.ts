/**
 * What the understudy knows of rumors: phrases that people use under a post when something has happened, by what they do
 * to the post's claim. Phrases stand in lower case, separated by commas; an apostrophe or hyphen counts as a space.
 */
export type CueKind = keyof typeof WORDS

type Lists = { readonly [language: string]: string }

export const WORDS = {
  /** The text states that the claim holds. */
  confirmation: {
    en: 'confirmed, confirm, confirms, can confirm, is true, it s true, this is true, true story, is real, it s real, this is real, for real, verified, is correct, this is correct, is accurate, is right, they are right, she s right, he s right, checks out, is legit, legit, same here, as well here, here too, also here',
    es: 'confirmado, confirmada, confirma, confirman, confirmo, es verdad, es cierto, es real, verificado, verificada, aquí también, acá también, lo mismo aquí, tal cual',
    de: 'bestätigt, bestätigen, bestätige, stimmt, stimmt wirklich, stimmt leider, ist wahr, ist echt, ist richtig, kann ich bestätigen, hier auch, bei uns auch, genau so',
    fr: 'confirmé, confirmée, confirme, c est vrai, est vrai, c est exact, vérifié, ici aussi, chez nous aussi',
    pt: 'confirmado, confirmada, confirmo, confirmam, é verdade, é real, verificado, aqui também',
    zh: '属实, 证实, 已确认, 是真的, 确实, 我这边也, 这里也',
    ja: '本当です, 本当だ, 本当に, 事実です, 確認済み, 確認されました, こちらも, うちも',
    ar: 'مؤكد, تم التأكيد, صحيح, حقيقي, هذا حقيقي, هنا أيضا',
  },
  /** Was there. */
  eyewitness: {
    en: 'i saw, i ve seen, i can see, i see it, saw it, saw them, we saw, seen it myself, saw it myself, with my own eyes, i heard it, heard it too, we heard it, i was there, i m there, i am there, i m here, i m on site, from my window, from my balcony, from our roof, outside my, in front of me, right in front of, i m standing, standing here, just walked past, just drove past, just drove by, i work there, i work here, i live there, i live here, i live next, my building, our building, my street, we live, on my shift, i was on, just came from, smell it, can smell, felt it, we felt',
    es: 'lo vi, la vi, los vi, yo vi, vi cómo, lo veo, la veo, lo estoy viendo, estoy aquí, estoy acá, estoy allí, estaba allí, yo estaba, desde mi ventana, desde mi balcón, delante de mí, vivo al lado, vivo aquí, trabajo allí, trabajo ahí, acabo de pasar, lo oí, se oyó, lo escuché, en mi calle, en mi edificio, se huele, huele a',
    de: 'ich hab gesehen, hab gesehen, habe gesehen, selbst gesehen, mit eigenen augen, ich sehe, sehe ich, sehe es, ich war da, ich war dort, war dabei, ich stehe, stehe gerade, ich bin hier, bin vor ort, bin gerade, vor meinem fenster, aus meinem fenster, vom balkon, vor mir, wohne nebenan, wohne da, wohne dort, ich wohne, arbeite dort, arbeite da, gerade vorbeigefahren, gerade vorbei, habs gehört, hab es gehört, in unserer straße, in meiner straße, man riecht, riecht nach',
    fr: 'j ai vu, je l ai vu, je vois, je suis sur place, j y suis, j étais là, de ma fenêtre, devant moi, j habite à côté, j habite là, je travaille là, je viens de passer, j ai entendu, dans ma rue',
    pt: 'eu vi, vi com, estou vendo, estou aqui, estou no local, eu estava lá, da minha janela, na minha frente, moro ao lado, trabalho lá, acabei de passar, eu ouvi, na minha rua',
    zh: '亲眼, 我看到, 我看见, 我在现场, 我就在, 我住在, 我听到, 窗外, 我家楼下, 刚路过',
    ja: '見ました, 見えます, この目で, 現場にいます, 今ここに, 窓から, 目の前, 近くに住んで, 聞こえました, 通りました',
    ar: 'رأيت, شاهدت, بعيني, أنا هنا, أنا في المكان, من نافذتي, أمامي, سمعت الصوت, أسكن بجانب',
  },
  /** Shows something for it. */
  source: {
    en: 'here s a photo, here s the photo, here s a video, here is a photo, photo attached, pic attached, pics attached, took this photo, took this, my photo, my video, on video, live stream, livestream, got it on camera, on camera, see the alert, got the alert, got the text, press release, here s the link, link below, here s the statement',
    es: 'aquí la foto, dejo foto, dejo vídeo, dejo video, tengo vídeo, tengo video, tengo fotos, adjunto foto, en directo, comunicado oficial, nota de prensa, aquí el enlace, llegó la alerta',
    de: 'hier ein foto, foto anbei, hier das foto, hier ein video, video anbei, hab ein video, habe fotos, live stream, pressemitteilung, hier der link, link unten, warnmeldung bekommen, kam die warnung',
    fr: 'voici la photo, photo à l appui, j ai une photo, j ai une vidéo, en direct, communiqué officiel, voici le lien',
    pt: 'segue a foto, tenho foto, tenho vídeo, ao vivo, nota oficial, segue o link',
    zh: '有图, 有视频, 视频为证, 附图, 直播, 通报如下, 链接在',
    ja: '写真あり, 動画あり, 写真を撮り, 生中継, プレスリリース, リンクはこちら',
    ar: 'بالصور, بالفيديو, بث مباشر, بيان رسمي, الرابط هنا',
  },
  /** Believes it, for no reason given. */
  belief: {
    en: 'i knew it, knew it, told you, told you so, so true, wake up, i believe, makes sense, of course, not surprised, exactly, everyone knows, spread the word, please share, share this, omg, oh my god, terrifying, praying, stay safe, be careful, horrible, so scary',
    es: 'lo sabía, ya lo decía, os lo dije, les dije, te lo dije, yo lo creo, claro que sí, exacto, compartid, compartan, difundid, qué horror, qué miedo, dios mío, tened cuidado, cuídense',
    de: 'wusste ich, wusst ich, hab ich doch gesagt, sag ich doch, glaub ich sofort, war klar, genau, bitte teilen, teilt das, oh gott, furchtbar, schrecklich, passt auf euch auf',
    fr: 'je le savais, je vous l avais dit, évidemment, exactement, partagez, quelle horreur, mon dieu, faites attention',
    pt: 'eu sabia, eu avisei, com certeza, exatamente, compartilhem, que horror, meu deus, cuidado',
    zh: '果然, 早就知道, 我信, 转发, 太可怕了, 注意安全',
    ja: 'やっぱり, 信じます, 拡散, 怖い, 気をつけて',
    ar: 'كنت أعرف, أصدق ذلك, انشروا, يا إلهي, انتبهوا',
  },
  /** Has it from somebody who has it from somebody. */
  hearsay: {
    en: 'my cousin, my uncle, my aunt, my brother in law, my neighbour, my neighbor, a friend, friend of a friend, my friend, my mate, a colleague, someone told me, somebody told me, told me, i heard that, heard that, i read that, people are saying, people say, they say that, apparently, supposedly, allegedly, word is, rumour has it, rumor has it, insider, in a group chat, whatsapp, from my group',
    es: 'mi primo, mi prima, mi tío, mi cuñado, mi vecino, mi vecina, un amigo, una amiga, un conocido, me dijo, me han dicho, me dijeron, me contaron, dicen que, se dice, parece que, por lo visto, al parecer, whatsapp, me ha llegado',
    de: 'mein cousin, mein onkel, meine tante, mein schwager, mein nachbar, meine nachbarin, ein freund, eine freundin, ein bekannter, ein kollege, hat mir erzählt, hab gehört, habe gehört, man sagt, man hört, angeblich, anscheinend, soll angeblich, aus sicherer quelle, whatsapp',
    fr: 'mon cousin, mon oncle, mon voisin, un ami, une amie, m a dit, on m a dit, il paraît, paraît il, apparemment, on dit que',
    pt: 'meu primo, meu tio, meu vizinho, um amigo, uma amiga, me disse, me contaram, dizem que, parece que, pelo visto',
    zh: '听说, 据说, 朋友说, 我朋友, 亲戚说, 群里说, 有人说',
    ja: 'らしい, だそうです, 友達が, 知り合いが, 聞いた話, という噂',
    ar: 'قال لي, صديقي, ابن عمي, سمعت أن, يقولون, يقال',
  },
  /** The text states that the claim does not hold. */
  denial: {
    en: 'fake, false, untrue, not true, isn t true, wasn t true, wrong, hoax, debunked, deny, denies, denied, rumour, rumours, rumor, rumors, misinformation, disinformation, fake news, made up, made that up, bullshit, bs, nonsense, rubbish, bogus, lie, lies, a lie, lying, refuted, misleading, inaccurate, no evidence, unfounded, baseless, no such thing, not happening, mistaken, invented, fabricated',
    es: 'falso, falsa, es falso, mentira, mentiras, bulo, bulos, no es verdad, no es cierto, desmentido, desmentida, desmiente, desmienten, desmintió, inventado, inventada, rumor, rumores, desinformación, engañoso, sin pruebas, montaje, tontería, se equivoca',
    de: 'falsch, fake, falschmeldung, fakenews, lüge, lügen, gelogen, stimmt nicht, stimmt so nicht, stimmt doch nicht, stimmt gar nicht, nicht wahr, unwahr, quatsch, unsinn, blödsinn, gerücht, gerüchte, erfunden, ausgedacht, dementiert, dementieren, dementi, widerlegt, irreführend, keine belege, ente',
    fr: 'faux, fausse, c est faux, mensonge, mensonges, pas vrai, n est pas vrai, démenti, démentie, dément, démentent, rumeur, rumeurs, intox, inventé, désinformation, canular, n importe quoi',
    pt: 'falso, falsa, mentira, mentiras, boato, boatos, não é verdade, desmentido, desmentiu, desmente, inventado, inventada, desinformação, enganoso',
    zh: '假的, 谣言, 造谣, 辟谣, 不是真的, 不属实, 不实, 虚假, 胡说, 编的, 否认',
    ja: '嘘, うそ, ウソ, デマ, 偽, 事実ではない, 事実ではありません, 本当ではない, 間違い, 誤情報, 否定',
    ar: 'كذب, كاذب, غير صحيح, ليس صحيحا, شائعة, إشاعة, إشاعات, مفبرك, ملفق, نفى, تنفي, نفت',
  },
  /** Asks to take the claim back or not to spread it. */
  reproach: {
    en: 'please delete, delete this, take this down, stop spreading, stop sharing, don t share, do not share, correction, corrected, retracted, clickbait, scaremongering',
    es: 'bórralo, borra esto, borren, no difundan, no difundáis, no compartan, no compartáis, rectificación',
    de: 'bitte löschen, lösch das, nicht teilen, nicht weiterverbreiten, richtigstellung, korrektur, panikmache',
    fr: 'supprimez, ne partagez pas',
    pt: 'apague, não compartilhem',
    zh: '别传谣, 请删除',
    ja: '訂正, 削除して, 拡散しないで',
    ar: 'لا تنشروا',
  },
  /** Was there and found it otherwise, or knows where the picture is really from. */
  contradiction: {
    en: 'nothing here, nothing there, nothing happened, nothing is happening, nothing burning, nothing collapsed, nobody here, never happened, didn t happen, did not happen, hasn t happened, still standing, still there, still open, still running, is open, was open, all fine, all clear, all quiet, everything is normal, everything normal, business as usual, works fine, working fine, water is fine, drank it, no smoke, no fire, no sign of, no one died, nobody died, nobody was hurt, no one was hurt, old photo, old video, old picture, old pic, old footage, same photo, same picture, photo is from, picture is from, video is from, pic is from, footage is from, clip is from, from years ago, years ago, different city, another city, other country, photoshop, photoshopped, edited, ai generated, reverse image, reverse search, a stunt, a drill, was a drill, an exercise, planned exercise, film shoot',
    es: 'aquí no pasa nada, no pasa nada, no pasó nada, no ha pasado nada, no hay nada, nunca pasó, sigue en pie, sigue abierto, sigue abierta, está abierto, está abierta, todo normal, todo tranquilo, todo bien, funciona bien, foto vieja, foto antigua, vídeo antiguo, video viejo, es de hace años, hace años, de otra ciudad, de otro país, retocada, editada, era un simulacro, un simulacro, nadie murió, sin heridos, no hay humo',
    de: 'hier ist nichts, da ist nichts, nichts passiert, nichts los, nie passiert, steht noch, noch offen, ist offen, läuft normal, fährt normal, alles normal, alles ruhig, alles gut, alles ok, läuft alles, altes foto, altes bild, altes video, foto ist von, bild ist von, video ist von, von vor jahren, vor jahren, andere stadt, anderes land, bearbeitet, ki generiert, bildersuche, eine übung, war eine übung, niemand verletzt, kein rauch, kein feuer',
    fr: 'rien ici, il ne se passe rien, rien ne s est passé, toujours debout, toujours ouvert, est ouvert, tout va bien, tout est normal, vieille photo, ancienne photo, photo de, il y a des années, autre ville, retouchée, un exercice',
    pt: 'não aconteceu nada, nada aqui, nunca aconteceu, continua de pé, continua aberto, está aberto, tudo normal, foto antiga, vídeo antigo, anos atrás, outra cidade, editada, um simulado',
    zh: '没事, 什么都没有, 没有发生, 一切正常, 还在, 旧图, 旧照, 老照片, 几年前, 别的城市, p图, p的, 演习',
    ja: '何もない, 何も起きて, 異常なし, 普通に, 平常, 昔の写真, 古い写真, 別の街, 加工, 訓練です',
    ar: 'لا شيء هنا, لم يحدث, لا يزال مفتوحا, كل شيء طبيعي, صورة قديمة, فيديو قديم, مدينة أخرى, معدلة, تدريب',
  },
  /** Asks for more before believing. */
  doubt: {
    en: 'source please, any source, got a source, what source, where s the source, no source, proof, any proof, no proof, not sure, i doubt, doubt it, doubtful, hard to believe, unconfirmed, wait for, careful with, suspicious, sounds off, doesn t add up, makes no sense, skeptical, sceptical, really, are you sure, who says, says who, why is nobody, strange that',
    es: 'alguna fuente, fuente por favor, la fuente, pruebas, alguna prueba, lo dudo, no me lo creo, no lo creo, sin confirmar, quién lo dice, seguro que, no cuadra',
    de: 'quelle bitte, welche quelle, ohne quelle, beweise, bezweifle, zweifel, glaub ich nicht, glaube ich nicht, unbestätigt, abwarten, wer sagt das, wirklich, echt jetzt, komisch',
    fr: 'une source, quelle source, des preuves, j en doute, pas confirmé, qui dit ça, vraiment, bizarre',
    pt: 'alguma fonte, qual a fonte, provas, duvido, não confirmado, quem disse, sério',
    zh: '真的吗, 真的假的, 有证据吗, 来源, 求证, 不太信, 存疑',
    ja: '本当ですか, 本当？, ソースは, 証拠, 怪しい, 信じられない',
    ar: 'ما المصدر, هل هذا صحيح, دليل, أشك, غير مؤكد',
  },
  /** Thinks that those in office lie. */
  distrust: {
    en: 'cover up, covering up, covered up, hiding it, hiding this, hiding something, they won t tell, won t tell you, don t want you to know, paid to say, of course they deny, they always deny, media silence, media won t, mainstream media, sheep, bots',
    es: 'lo ocultan, nos ocultan, lo tapan, lo están tapando, no quieren que, los medios callan, silencio de los medios, borregos',
    de: 'vertuschen, vertuscht, vertuschung, wird verschwiegen, verschweigen, die da oben, medien schweigen, schlafschafe',
    fr: 'on nous cache, ils cachent, étouffer, les médias se taisent, moutons',
    pt: 'estão escondendo, escondem, abafar, a mídia não, gado',
    zh: '掩盖, 隐瞒, 不敢报, 压消息',
    ja: '隠蔽, 隠して, 報道しない, 工作員',
    ar: 'يخفون, تعتيم, الإعلام صامت',
  },
  /** Those whose word settles it, when they stand beside a confirmation or denial. */
  authority: {
    en: 'police, fire department, fire brigade, firefighters, fire service, officials, official, officially, authorities, authority, mayor, city hall, council, ministry, hospital, coast guard, harbour master, port authority, grid operator, utility, operator, spokesperson, spokeswoman, spokesman, press office, press conference, statement, bulletin, emergency services, civil protection, transit agency, water works, waterworks, fact check, fact checkers',
    es: 'policía, bomberos, oficial, oficialmente, autoridades, autoridad portuaria, alcaldesa, alcalde, alcaldía, ayuntamiento, ministerio, hospital, protección civil, portavoz, rueda de prensa, comunicado, emergencias, capitanía',
    de: 'polizei, feuerwehr, offiziell, behörde, behörden, bürgermeisterin, bürgermeister, rathaus, stadtverwaltung, ministerium, krankenhaus, klinikum, hafenbehörde, hafenamt, netzbetreiber, stadtwerke, sprecherin, sprecher, pressekonferenz, mitteilung, katastrophenschutz, leitstelle, faktencheck',
    fr: 'police, pompiers, officiel, officiellement, autorités, maire, mairie, préfecture, ministère, hôpital, porte parole, conférence de presse, communiqué',
    pt: 'polícia, bombeiros, oficial, oficialmente, autoridades, prefeitura, prefeito, prefeita, ministério, hospital, porta voz, coletiva, comunicado, defesa civil',
    zh: '警方, 官方, 消防, 市政府, 市长, 医院, 发布会, 通报, 海事局, 电力公司',
    ja: '警察, 公式, 消防, 市役所, 市長, 病院, 記者会見, 発表, 港湾局, 電力会社',
    ar: 'الشرطة, رسمي, رسميا, السلطات, البلدية, المستشفى, الوزارة, الدفاع المدني, بيان',
  },
  /** Names where a claim comes from. */
  attribution: {
    en: 'according to, says the, said the, say the, announced, announces, reports that, reported by, per the, as of, update from, we are, our crews, our teams, on site, our reporter, closed until, at the scene',
    es: 'según, informa, informan, anuncia, anunció, comunica, en el lugar, nuestro equipo, nuestros equipos, actualización',
    de: 'laut, teilt mit, meldet, gab bekannt, nach angaben, vor ort, unsere reporterin, unser reporter',
    fr: 'selon, d après, annonce, a annoncé, sur place',
    pt: 'segundo, de acordo com, anunciou, informa, no local',
    zh: '据, 根据, 宣布, 记者',
    ja: 'によると, によれば, 発表によると, 速報',
    ar: 'وفقا, بحسب, أعلنت, أعلن',
  },
  /** Wants to be spread rather than checked. */
  alarm: {
    en: 'share before, before they delete, before it s deleted, before it gets deleted, they don t want you, don t want you to know, wake up, forward this, forward to, pass it on, tell everyone, spread this, retweet, urgent, the truth about, what they hide, media won t tell, nobody is talking about, no one is talking about, breaking, shocking, mark my words, do not drink, get out now',
    es: 'difunde, difundid, difundan, comparte, compartan, compartid, antes de que lo borren, reenvía, reenvíen, urgente, no quieren que sepas, despertad, la verdad sobre, máxima difusión, pásalo',
    de: 'bitte teilen, teilen bevor, bevor es gelöscht, weiterleiten, weitersagen, eilmeldung, dringend, wacht auf, aufwachen, die wahrheit über, keiner spricht darüber',
    fr: 'partagez, faites tourner, avant suppression, urgent, réveillez vous, la vérité sur',
    pt: 'compartilhe, repassem, urgente, antes que apaguem, acordem, a verdade sobre',
    zh: '速转, 紧急, 快转, 转发出去, 真相, 删前速看',
    ja: '拡散希望, 緊急, 真実, 消される前に',
    ar: 'عاجل, انشر, قبل الحذف, الحقيقة',
  },
  /** Judges, wishes, feels. */
  opinion: {
    en: 'i think, i feel, i guess, imho, imo, in my opinion, my opinion, if you ask me, honestly, personally, should, shouldn t, should have, deserve, deserves, best, worst, ugly, ugliest, beautiful, love, i love, hate, i hate, disgrace, shame, shameful, proud, overrated, unacceptable, ridiculous, embarrassing, sick of, tired of, fed up, wish, miss, hope, worth it, thank you, thanks to',
    es: 'creo que, pienso que, en mi opinión, opino, para mí, debería, deberían, la mejor, el mejor, lo peor, la peor, vergüenza, qué pena, me encanta, odio, harto, harta, inaceptable, ridículo, ojalá, orgullo, gracias a',
    de: 'ich finde, finde ich, meiner meinung, ich denke, ich glaube, meines erachtens, sollte, sollten, schönste, hässlichste, schlimmste, beste, besten, schande, peinlich, liebe, hasse, stolz, satt, unmöglich, lächerlich, hoffentlich, danke an, dank an',
    fr: 'je pense, je trouve, à mon avis, selon moi, devrait, devraient, honte, j aime, je déteste, ridicule, inacceptable, merci à',
    pt: 'eu acho, acho que, na minha opinião, deveria, deveriam, vergonha, adoro, odeio, ridículo, inaceitável, obrigado a',
    zh: '我觉得, 我认为, 应该, 太丑, 太美, 喜欢, 讨厌, 丢脸, 感谢',
    ja: 'と思う, と思います, べき, 好き, 嫌い, 最高, 最悪, ありがとう',
    ar: 'أعتقد, برأيي, يجب, أحب, أكره, عار, شكرا',
  },
  /** Jokes. */
  joke: {
    en: 'lol, lmao, rofl, haha, hahaha, joke, joking, just kidding, kidding, satire, satirical, parody, sarcasm, i m crying, i m dead, plot twist, in other news, local man, seagull, seagulls, godzilla, aliens',
    es: 'jaja, jajaja, jajajaja, broma, es broma, sátira, parodia, chiste, gaviota, gaviotas',
    de: 'haha, hahaha, witz, scherz, satire, satirisch, spaß, ironie, möwe, möwen',
    fr: 'mdr, ptdr, blague, c est une blague, satire, parodie, je plaisante',
    pt: 'kkk, kkkk, kkkkk, rsrs, piada, brincadeira, sátira',
    zh: '哈哈, 笑死, 开玩笑, 段子, 海鸥',
    ja: '笑, ｗｗ, 草, 冗談, ネタ, カモメ',
    ar: 'ههه, هههه, مزحة, نكتة, سخرية',
    any: '😂, 🤣, 😅, 😹',
  },
  /** Turns what follows it into its opposite. */
  negation: {
    en: 'not, no, never, nobody, none, neither, nor, isn t, wasn t, aren t, hasn t, haven t, doesn t, don t, didn t, can t, couldn t, won t, without',
    es: 'no, nadie, nunca, ni, sin, tampoco',
    de: 'nicht, kein, keine, keinen, keiner, niemand, nie, ohne',
    fr: 'ne, n, pas, aucun, aucune, jamais, personne, sans',
    pt: 'não, nunca, ninguém, nem, sem',
  },
} as const satisfies { readonly [kind: string]: Lists }
