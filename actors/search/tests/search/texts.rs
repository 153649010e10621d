//! What is found in which text: scripts, spellings, identifiers, and what looks like the syntax of a query.

use crate::shelf::{Shelf, message};
use parley_search::words::{MAX_WORD, words};
use parley_search::{Filter, Kind, MAX_QUERY_WORDS};

/// No hit.
const NONE: [u64; 0] = [];

/// Queries that find a text among others, and queries that do not.
#[track_caller]
fn check(text: &str, found: &[&str], not_found: &[&str]) {
    let shelf = Shelf::of(&["something else", text, "…!"]);
    for query in found {
        assert_eq!(shelf.finds(query), [2], "{query:?} finds {text:?}");
    }
    for query in not_found {
        assert_eq!(shelf.finds(query), NONE, "{query:?} does not find {text:?}");
    }
}

#[test]
fn a_text_falls_into_words() {
    let rows = [
        ("", ""),
        ("\u{301}\u{FE0F} 🙂", ""),
        ("POL-358, v1.2", "pol 358 v1 2"),
        ("snake_case CamelCase", "snake case camelcase"),
        ("don't naïve", "don t naive"),
        ("Ёлка й Straße ΣΊΣΥΦΟΣ", "елка и strasse σισυφοσ"),
        ("中文abc中", "中 文 abc 中"),
        ("ｶﾞー が", "ガ ー が"),
        ("\u{1112}\u{1161}\u{11AB}글", "한 글"),
        ("ที่", "ที่"),
        ("soft\u{AD}hyphen zero\u{200B}space", "softhyphen zero space"),
        ("㍿ ½ Ⅷ", "株 式 会 社 1 2 viii"),
    ];
    for (text, expected) in rows {
        let found: Vec<_> = words(text).into_iter().map(|word| word.text).collect();
        assert_eq!(found.join(" "), expected, "{text:?}");
    }
    let spans: Vec<_> = words("é, ﬁx").into_iter().map(|word| (word.from, word.to)).collect();
    assert_eq!(spans, [(0, 2), (4, 8)]);
}

#[test]
fn scripts_without_spaces_are_found_by_any_sequence() {
    check("我们用中文讨论全文搜索。", &["中文", "全文搜索", "搜", "中文 讨论"], &["文中", "英文"]);
    check("検索エンジンのテストです", &["検索", "エンジン", "ｴﾝｼﾞﾝ", "テスト です"], &["えんじん"]);
    check("ค้นหาข้อความภาษาไทย", &["ข้อความ", "ภาษาไทย", "ภาษา ไทย"], &["ไทยภาษา"]);
    check("ການຊອກຫາ", &["ຊອກຫາ"], &["ຫາຊອກ"]);
    check("ការស្វែងរក", &["ស្វែងរក"], &["រកស្វែង"]);
    check("မြန်မာစာ", &["မြန်မာ", "စာ"], &["စာမြန်မာ"]);
    check("한국어 검색을 시험한다", &["검색", "검색을", "\u{1100}\u{1165}\u{11B7}색"], &["색검"]);
}

#[test]
fn scripts_with_spaces_are_found_by_the_word() {
    check("Проверка ПОИСКА, ещё раз", &["поиска", "еще", "ПРОВЕРКА раз"], &["поиск", "пров"]);
    check("Ο Οδυσσεύς γύρισε", &["ΟΔΥΣΣΕΥΣ", "οδυσσευς", "γυρισε"], &["Οδυσσέα"]);
    check("البَحْث في النصّ أحمد", &["البحث", "النص", "احمد", "البـــحث"], &["بحث"]);
    check("שָׁלוֹם עולם", &["שלום", "עולם"], &["שלומי"]);
    check("हिन्दी में खोज", &["हिन्दी", "खोज में"], &["हिन्द", "हनद"]);
    check(
        "Die Straße nach Zürich, ÜBER",
        &["STRASSE", "straẞe", "zurich", "Zu\u{308}rich", "über"],
        &["zuerich"],
    );
    check("İstanbul ＰＯＬ ﬁne ①", &["istanbul", "pol", "fine", "1"], &["po"]);
}

#[test]
fn identifiers_are_found_as_a_sequence() {
    check(
        "see POL-358 there",
        &["POL-358", "pol-358", "POL", "358", "358 POL"],
        &["358-POL", "POL-35"],
    );
    check(
        "call snake_case()",
        &["snake_case", "snake", "case", "snake_case()"],
        &["case_snake", "snak"],
    );
    check("release v1.2.3 is out", &["v1.2.3", "v1.2", "V1"], &["1.2.3", "v1.3"]);
    check(
        "https://example.org/a/b?x=1&y=%20#end",
        &["https://example.org/a/b?x=1&y=%20#end", "example.org", "/a/b"],
        &["example.com", "/b/a"],
    );
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    check(&format!("sha256:{hash}."), &[hash, &hash.to_uppercase()], &[&hash[..63]]);
}

#[test]
fn long_words_are_found_whole() {
    for length in [500, MAX_WORD, MAX_WORD + 1, 3 * MAX_WORD + 7, 70_000] {
        let word = "x1".repeat(length / 2 + 1)[..length].to_owned();
        let query = &word[..length.min(MAX_WORD * MAX_QUERY_WORDS)];
        check(&format!("a {word} b"), &[query], &[&"x2".repeat(20)]);
    }
    assert_eq!(words(&"é".repeat(MAX_WORD)).len(), 1);
    assert_eq!(words(&"é".repeat(MAX_WORD + 1)).len(), 2);
}

#[test]
fn nothing_is_syntax() {
    check("a AND (b 2", &["a AND (b", "(b", "and", "+a -b", "b^2 ~and"], &["a NOT b"]);
    check("field:x to [1 TO 2]", &["field:x", "x", "[1 TO 2]", "field"], &["y:x", "fie*"]);
    check(
        r#"say "quoted words" \ or \"so\""#,
        &[r#""quoted"#, r#"\"so\""#, r#"words" \"#],
        &["\"quoted so\"x"],
    );
}

#[test]
fn a_query_without_a_word_finds_nothing() {
    let shelf = Shelf::of(&["* \" \\ 🙂", "👩‍👩‍👧 ❤️ 🇩🇪", "word"]);
    for query in ["", " \n\t", "*", "\"", "\\", "()", "~", "🙂", "❤️", "\u{FE0F}", "\u{301}", "—…"]
    {
        assert_eq!(shelf.finds(query), NONE, "{query:?}");
    }
    assert_eq!(shelf.finds("🙂 word *"), [3], "what is no word does not narrow");
}

#[test]
fn all_terms_must_match_and_words_beyond_the_limit_do_not_count() {
    check("one two three", &["one three", "three one one", "one"], &["one four"]);
    let text: Vec<_> = (0..MAX_QUERY_WORDS).map(|n| format!("w{n}")).collect();
    let text = text.join(" ");
    check(&text, &[&text, &format!("{text} missing")], &[&format!("missing {text}")]);
}

#[test]
fn a_filter_narrows_without_changing_the_order() {
    let mut documents = Vec::new();
    for number in 1..=12 {
        let mut document = message(number, "same text");
        document.kind = [Kind::Message, Kind::Claim, Kind::Thread][number as usize % 3];
        document.thread = 1 + number % 2;
        document.board = 1 + number % 4;
        documents.push(document);
    }
    let shelf = Shelf::holding(documents);
    let all = Filter::default();
    let find = |filter| shelf.finds_within("text", filter, 3);
    assert_eq!(find(all), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(find(Filter { thread: Some(2), ..all }), [11, 9, 7, 5, 3, 1]);
    assert_eq!(find(Filter { board: Some(3), ..all }), [10, 6, 2]);
    assert_eq!(find(Filter { kind: Some(Kind::Claim), ..all }), [10, 7, 4, 1]);
    assert_eq!(find(Filter { thread: Some(2), kind: Some(Kind::Thread), board: Some(4) }), [11]);
    assert_eq!(find(Filter { thread: Some(9), ..all }), NONE);
}

#[test]
fn a_hit_tells_what_it_is_and_shows_why() {
    let mut document = message(7, &format!("{}the Straße itself", "before ".repeat(50)));
    (document.kind, document.thread, document.board) = (Kind::Claim, 5, 3);
    let shelf = Shelf::holding([document]);
    let page = shelf.searcher.search("strasse", Filter::default(), 10, None).unwrap();
    let [hit] = &page.hits[..] else { panic!("{page:?}") };
    assert_eq!((hit.kind, hit.number, hit.thread, hit.board), (Kind::Claim, 7, 5, 3));
    assert!(hit.snippet.starts_with('…') && hit.snippet.ends_with("the Straße itself"), "{hit:?}");
    assert_eq!(page.next, None);
}

/// A small generator of numbers that look random, the same ones for the same seed.
struct Lcg(u64);

impl Lcg {
    /// The next number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn a_document_is_found_by_each_of_its_own_words() {
    let alphabet: Vec<char> = "abZ9ßẞéİıſﬁςΣйЁאָבְأَـحक्षिค้ำກ်မခ្មㄱ가각ㅠ中々ーｶﾞが①½㍿Ⅷ _-.:'\"*\u{301}\u{345}\u{200D}\u{FE0F}\u{3099}\u{A0}\u{3000}\n🙂"
        .chars()
        .collect();
    let mut random = Lcg(7);
    let texts: Vec<String> = (0..300)
        .map(|_| {
            let length = 1 + random.below(40);
            (0..length).map(|_| alphabet[random.below(alphabet.len())]).collect()
        })
        .collect();
    let shelf = Shelf::of(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    for (number, text) in (1..).zip(&texts) {
        let own = text.split_whitespace().filter(|term| !words(term).is_empty());
        for term in own.chain([text.as_str()]).filter(|query| !words(query).is_empty()) {
            assert!(shelf.finds(term).contains(&number), "{term:?} finds {text:?}");
        }
        for word in words(text) {
            assert!(text.is_char_boundary(word.from) && text.is_char_boundary(word.to));
            assert!(word.from < word.to && !word.text.is_empty());
            assert!(shelf.finds(&word.text).contains(&number), "{word:?} finds {text:?}");
        }
    }
}
