// SPDX-License-Identifier: MIT OR Apache-2.0

//! What native speakers say, and where a language sets a trap.

use super::*;
use Reading::{Amend, No, Unclear, Yes};

#[test]
fn english() {
    let yes = [
        "Yes.",
        "yes, that's correct",
        "Yep, go ahead please!",
        "That\u{2019}s right, Anna.",
        "okay yes, send it now",
        "  yeah   that is RIGHT ",
        "Oh, yes.",
        "Absolutely",
        "confirm",
        "exactly, thank you",
        "correct it is",
    ];
    let no = [
        "no",
        "yeah, no",
        "not wrong",
        "yes... no, stop",
        "don't",
        "Don\u{2019}t send it",
        "cancel that",
        "absolutely not",
        "nope",
        "never mind",
        "yes is wrong",
    ];
    let amend = [
        "wait",
        "actually yes",
        "yes, 98765 double four 10",
        "hold on",
        "change it",
        "yes but later",
        "make it tomorrow",
        "yes, another one",
    ];
    let unclear = [
        "",
        "   ",
        "...",
        "ok",
        "mm-hm",
        "sure",
        "yes, ten",
        "yes to Bob",
        "yes or maybe",
        "is it correct",
        "s\u{ed}",
        "if yes",
        "correct the number",
        "thanks",
        "right",
    ];
    check(Locale::En, Yes, &yes);
    check(Locale::En, No, &no);
    check(Locale::En, Amend, &amend);
    check(Locale::En, Unclear, &unclear);
}

#[test]
fn g50_spanish() {
    check(Locale::Es, Yes, &["si", "Si.", "SI", "si, si"]);
    check(Locale::Es, Unclear, &["si me llaman mañana", "si es correcto", "si, correcto", "si por favor"]);
    let yes = [
        "sí",
        "Sí, correcto",
        "exacto",
        "Confirmo.",
        "adelante",
        "así es",
        "vale, sí",
        "sí, por favor, 98765 43210",
        "claro que sí, correcto",
        "sí, nueve ocho siete seis cinco cuatro tres dos uno cero",
    ];
    let no = [
        "no",
        "No, gracias",
        "cancela",
        "para",
        "sí, no",
        "claro que no",
        "incorrecto",
        "nunca",
        "sí, para",
        "si no",
    ];
    let amend = [
        "pero",
        "sí, pero cambia el último",
        "mejor mañana",
        "espera",
        "sí, 98765 43211",
        "en vez de Anna",
        "otro número",
        "un momento",
    ];
    let unclear = ["vale", "bueno", "claro", "de acuerdo", "ok", "gracias", "sí, diez", "", "quizás"];
    check(Locale::Es, Yes, &yes);
    check(Locale::Es, No, &no);
    check(Locale::Es, Amend, &amend);
    check(Locale::Es, Unclear, &unclear);
}

#[test]
fn french() {
    check(Locale::Fr, Unclear, &["si", "Si !", "si, oui"]);
    let yes = [
        "oui",
        "Oui, c'est ça.",
        "C\u{2019}est ça",
        "exact",
        "je confirme",
        "oui, merci",
        "d'accord, oui",
        "tout à fait",
        "oui, 98 765 432 10",
        "allez-y",
    ];
    let no = [
        "non",
        "annule",
        "arrête",
        "Arrêtez !",
        "oui, non",
        "ce n'est pas ça",
        "n'envoie pas",
        "jamais",
        "c'est faux",
    ];
    let amend = [
        "mais",
        "oui mais change le numéro",
        "plutôt Anna",
        "attends",
        "attendez",
        "oui, 98765",
        "un instant",
        "au lieu de ça",
        "mais si",
    ];
    let unclear = [
        "ok",
        "d'accord",
        "ouais",
        "bien sûr",
        "",
        "merci",
        "oui ou bien",
        "oui, quatre-vingt-dix",
        "peut-être",
    ];
    check(Locale::Fr, Yes, &yes);
    check(Locale::Fr, No, &no);
    check(Locale::Fr, Amend, &amend);
    check(Locale::Fr, Unclear, &unclear);
}

#[test]
fn german() {
    check(Locale::De, No, &["ja nein", "jein", "Jein!", "ja, stimmt nicht"]);
    let yes = [
        "ja",
        "Ja, genau.",
        "richtig",
        "stimmt",
        "das stimmt",
        "ja bitte",
        "Jawohl",
        "korrekt, danke",
        "okay, ja, Anna",
        "ja, neun acht sieben sechs fünf vier drei zwo eins null",
    ];
    let no =
        ["nein", "nicht", "falsch", "abbrechen", "nee", "stopp", "auf keinen Fall", "ja, lieber nicht", "ne"];
    let amend = [
        "aber",
        "ja, aber später",
        "sondern Bob",
        "warte",
        "Moment",
        "ändere die Nummer",
        "ja, 98765 43211",
        "lieber morgen",
    ];
    let unclear =
        ["ok", "klar", "passt", "doch", "na ja", "naja", "ja, wenn es geht", "ja, zwanzig", "bitte", "hm"];
    check(Locale::De, Yes, &yes);
    check(Locale::De, No, &no);
    check(Locale::De, Amend, &amend);
    check(Locale::De, Unclear, &unclear);
}

#[test]
fn g51_portuguese() {
    check(Locale::Pt, No, &["pois não", "Pois não!", "sim, pois não"]);
    let yes = [
        "sim",
        "Sim, isso mesmo.",
        "certo",
        "confirmo",
        "tá certo",
        "sim, por favor",
        "exato",
        "ok, sim, Anna",
        "sim, nove oito sete meia cinco quatro três dois um zero",
    ];
    let no = ["não", "nao", "cancela", "para", "sim, não", "está errado", "nunca", "deixa pra lá", "NÃO"];
    let amend = [
        "mas",
        "sim, mas muda",
        "muda o número",
        "espera",
        "na verdade sim",
        "sim, 98765",
        "um momento",
        "outro",
    ];
    let unclear =
        ["ok", "tá bom", "beleza", "pois", "pois é", "claro", "sim se der", "obrigado", "sim, vinte"];
    check(Locale::Pt, Yes, &yes);
    check(Locale::Pt, No, &no);
    check(Locale::Pt, Amend, &amend);
    check(Locale::Pt, Unclear, &unclear);
}

#[test]
fn hindi() {
    check(Locale::Hi, Unclear, &["theek hai", "ठीक है", "Theek hai."]);
    let yes = [
        "हाँ",
        "हां",
        "जी हाँ",
        "सही है",
        "haan",
        "ji haan, sahi hai",
        "confirm",
        "हाँ, ठीक है, भेज दो",
        "हाँ ९८७६५ ४३२१०",
        "haan, nau aath saat chhe paanch chaar teen do ek zero",
    ];
    let no = ["नहीं", "nahin", "Nahi!", "मत", "मत भेजो", "रुको", "जी नहीं", "हाँ, नहीं", "गलत है", "cancel"];
    let amend =
        ["लेकिन", "हाँ लेकिन बदलो", "बदल दो", "lekin", "haan, badlo", "एक मिनट", "हाँ, 98765", "इंतज़ार करो"];
    let unclear = ["अच्छा", "जी", "ok", "accha", "हाँ दस", "शायद", "", "हाँ अगर", "bilkul"];
    check(Locale::Hi, Yes, &yes);
    check(Locale::Hi, No, &no);
    check(Locale::Hi, Amend, &amend);
    check(Locale::Hi, Unclear, &unclear);
}

#[test]
fn japanese() {
    check(Locale::Ja, Unclear, &["結構です", "いいです", "はい、結構です", "けっこうです。"]);
    let yes = [
        "はい",
        "はい、そうです。",
        "お願いします",
        "はい、お願いします",
        "そうです",
        "その通りです",
        "間違いありません",
        "うん、はい",
        "はい、９８７６５ ４３２１０です",
        "はい 九八七六五四三二一〇",
    ];
    let no = [
        "いいえ",
        "違います",
        "やめて",
        "いや、違う",
        "はい、違います",
        "送らないで",
        "そうじゃない",
        "キャンセル",
        "間違いです",
    ];
    let amend = [
        "でも",
        "変更してください",
        "はい、でも変更",
        "ちょっと待って",
        "やっぱり明日",
        "はい、98765",
        "別の人",
        "はい、けど",
    ];
    let unclear = [
        "うん",
        "ええ",
        "オッケー",
        "大丈夫です",
        "そうですか",
        "そうですね",
        "かもしれない",
        "はい、十",
        "はい、ボブさん",
        "ＯＫ",
    ];
    check(Locale::Ja, Yes, &yes);
    check(Locale::Ja, No, &no);
    check(Locale::Ja, Amend, &amend);
    check(Locale::Ja, Unclear, &unclear);
}

#[test]
fn korean() {
    let yes = [
        "네",
        "네.",
        "네, 맞아요",
        "맞습니다",
        "예",
        "확인했습니다",
        "네 보내 주세요",
        "네, 98765 43210번으로",
        "ne",
        "네, 구팔칠육오 사삼이일공",
        "네네 맞아요",
    ];
    let no = [
        "아니요",
        "아뇨",
        "취소",
        "취소해 주세요",
        "네, 아니요",
        "하지 마세요",
        "안 돼요",
        "맞지 않아요",
        "틀렸어요",
    ];
    let amend =
        ["근데", "네, 근데 바꿔 주세요", "바꿔줘", "잠깐만요", "다른 번호", "네, 98765", "변경", "잠시만"];
    let unclear =
        ["응", "좋아요", "알겠습니다", "네가", "네 번", "맞나요", "네, 안나요", "", "네, 이사로", "네 십"];
    check(Locale::Ko, Yes, &yes);
    check(Locale::Ko, No, &no);
    check(Locale::Ko, Amend, &amend);
    check(Locale::Ko, Unclear, &unclear);
}

#[test]
fn g52_chinese() {
    check(Locale::Zh, Yes, &["没错", "沒錯", "对,没错"]);
    check(Locale::Zh, No, &["不对", "不對", "没错,不对", "对,不对", "是。不是", "没,错了"]);
    let yes = [
        "是的",
        "对",
        "对的。",
        "确认",
        "是的,发吧",
        "嗯,对",
        "正确",
        "對,九八七六五 四三二一零",
        "对,98765 43210号",
        "一点没错",
    ];
    let no = ["不", "不是", "取消", "别", "别发", "对,不要", "错了", "没有", "不错", "对,算了"];
    let amend = ["但是", "对,但是改一下", "改成明天", "等一下", "对,98765", "不过", "换一个", "其实是"];
    let unclear =
        ["好", "好的", "嗯", "可以", "行", "对不对", "对吗", "是吗", "对,十", "对面", "对不起", "没问题"];
    check(Locale::Zh, Yes, &yes);
    check(Locale::Zh, No, &no);
    check(Locale::Zh, Amend, &amend);
    check(Locale::Zh, Unclear, &unclear);
}

#[test]
fn russian() {
    check(Locale::Ru, No, &["да нет", "Да нет!", "ну да нет"]);
    let yes = [
        "да",
        "Да, верно.",
        "подтверждаю",
        "точно",
        "всё верно",
        "все верно, спасибо",
        "да, пожалуйста",
        "ага, да, Anna",
        "да, девять восемь семь шесть пять четыре три два один ноль",
    ];
    let no = ["нет", "не", "отмена", "стоп", "не надо", "неверно", "да, не отправляй", "никогда", "НЕТ"];
    let amend = [
        "но",
        "да, но измени",
        "измени номер",
        "подожди",
        "лучше завтра",
        "да, 98765",
        "минутку",
        "вместо Анны",
    ];
    let unclear =
        ["ага", "угу", "хорошо", "ладно", "ну да", "конечно", "да если", "да, двадцать", "спасибо", "да уж"];
    check(Locale::Ru, Yes, &yes);
    check(Locale::Ru, No, &no);
    check(Locale::Ru, Amend, &amend);
    check(Locale::Ru, Unclear, &unclear);
}

#[test]
fn greek() {
    let yes = [
        "ναι",
        "Ναι, σωστά.",
        "ΝΑΙ",
        "σωστα",
        "ακριβώς",
        "μάλιστα",
        "ναι, παρακαλώ",
        "εντάξει, ναι, Anna",
        "ναι, εννέα οκτώ επτά έξι πέντε τέσσερα τρία δύο ένα μηδέν",
        "nai",
    ];
    let no = [
        "όχι",
        "άκυρο",
        "ΟΧΙ",
        "ναι, όχι",
        "λάθος",
        "μην το στείλεις",
        "δεν είναι σωστό",
        "ακύρωσε",
        "σταμάτα",
    ];
    let amend = [
        "αλλά",
        "ναι, αλλά άλλαξε",
        "άλλαξε το",
        "περίμενε",
        "μια στιγμή",
        "ναι, 98765",
        "όμως",
        "καλύτερα αύριο",
    ];
    let unclear = ["εντάξει", "οκ", "βεβαίως", "καλά", "ναι ή", "ναι, είκοσι", "ίσως", "ευχαριστώ", "ναι αν"];
    check(Locale::El, Yes, &yes);
    check(Locale::El, No, &no);
    check(Locale::El, Amend, &amend);
    check(Locale::El, Unclear, &unclear);
    check(Locale::En, No, &["nai", "nay"]);
}
