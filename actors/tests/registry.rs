//! The registry and its actors over the memory journal: one at a time, replacement, passivation, bounds, replays.

#![expect(clippy::unwrap_used, reason = "in a test a failed step is a failed test")]

use std::sync::Arc;
use std::time::Duration;

use parley_actors::registry::{Registry, Settings};
use parley_journal::faulty::{Fault, Faulty};
use parley_journal::{Journal, memory::Memory};
use parley_language::desk::Board;
use parley_language::envelope::Draft;
use parley_language::thread::Act;
use parley_language::words::{Kind, Origin, Right, State};
use parley_language::{Author, BoardId, Reason, Rights, Speaker, ThreadId};

fn speaker(name: &str, rights: &[Right]) -> Speaker {
    let origin = if name == "human" { Origin::User } else { Origin::Llm };
    let author = Author { line: format!("parley:{name}").into(), extension: None, origin };
    Speaker { author, rights: Rights::of(rights.iter().copied()) }
}

fn draft(kind: Kind, body: &str) -> Draft {
    Draft {
        kind,
        body: body.into(),
        parent: None,
        relates_to: vec![],
        provenance: Default::default(),
        claims: vec![],
        refutes: vec![],
        evidence: vec![],
        url: None,
    }
}

async fn house(journal: Arc<dyn Journal>, settings: Settings) -> (Registry, Arc<Board>) {
    let registry = Registry::open(journal, settings).await.unwrap();
    if registry.shelves().boards().is_empty() {
        registry.make_board(Some("lobby".into()), "Lobby".into(), String::new()).await.unwrap();
    }
    let lobby = registry.shelves().board(&BoardId::Slug("lobby".into())).unwrap();
    (registry, lobby)
}

async fn opened(registry: &Registry, lobby: &Board) -> ThreadId {
    registry
        .open_thread(lobby, speaker("ann", &[]), draft(Kind::Ask, "why?"), None)
        .await
        .unwrap()
        .summary
        .id
}

#[actix::test]
async fn two_hundred_posts_from_twenty_tokens_are_read_once_each() {
    let (registry, lobby) = house(Arc::new(Memory::new()), Settings::default()).await;
    let thread = opened(&registry, &lobby).await;
    let posts = (0..200).map(|n| {
        let (registry, speaker) = (registry.clone(), speaker(&format!("bob{}", n % 20), &[]));
        async move {
            registry.post(thread, speaker, draft(Kind::Note, &format!("note {n}")), None).await
        }
    });
    let answers = futures_util::future::join_all(posts).await;
    let mut told: Vec<_> =
        answers.iter().flatten().map(|posted| posted.said.message().id).collect();
    assert!(
        answers
            .iter()
            .all(|a| a.is_ok() || a.as_ref().is_err_and(|r| r.reason == Reason::SelfReply))
    );
    let view = registry.view(thread).await.unwrap();
    let mut read: Vec<_> = view.said.iter().skip(1).map(|said| said.message().id).collect();
    told.sort_unstable();
    read.sort_unstable();
    assert_eq!(told, read);
    assert_eq!(view.summary.messages, read.len() as u64 + 1);
}

#[actix::test]
async fn of_two_closes_and_a_post_one_order_wins() {
    let (registry, lobby) = house(Arc::new(Memory::new()), Settings::default()).await;
    let thread = opened(&registry, &lobby).await;
    let human = speaker("human", &[]);
    let locker = speaker("lock", &[Right::Lock]);
    let (one, two, post) = tokio::join!(
        registry.act(thread, human.clone(), Act::Close),
        registry.act(thread, locker, Act::Close),
        registry.post(thread, speaker("bob", &[]), draft(Kind::Answer, "so"), None),
    );
    assert!(one.is_ok());
    assert_eq!(two.unwrap_err().reason, Reason::ThreadClosed);
    assert_eq!(post.unwrap_err().reason, Reason::ThreadClosed);
    assert!(registry.view(thread).await.unwrap().summary.standing.locked);
}

#[actix::test]
async fn a_client_ref_is_answered_again_and_refused_for_another_envelope() {
    let (registry, lobby) = house(Arc::new(Memory::new()), Settings::default()).await;
    let post = |body: &'static str| {
        let (registry, lobby) = (registry.clone(), Arc::clone(&lobby));
        async move {
            registry
                .open_thread(&lobby, speaker("ann", &[]), draft(Kind::Ask, body), Some("r1".into()))
                .await
        }
    };
    let (first, second) = tokio::join!(post("why?"), post("why?"));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first.said.message().id, second.said.message().id);
    assert!(first.replayed != second.replayed);
    let refusal = post("what?").await.unwrap_err();
    assert_eq!(refusal.reason, Reason::Conflict);
    assert_eq!(refusal.details.unwrap().existing.unwrap(), "msg_1");
    assert_eq!(registry.directory().len(), 1);
}

#[actix::test]
async fn an_idle_actor_leaves_and_its_thread_is_as_before() {
    let settings = Settings { idle_until_passivation: Duration::ZERO, ..Settings::default() };
    let (registry, lobby) = house(Arc::new(Memory::new()), settings).await;
    let thread = opened(&registry, &lobby).await;
    let before = registry.view(thread).await.unwrap();
    assert_eq!(registry.awake(), 1);
    registry.passivate();
    assert_eq!(registry.awake(), 0);
    registry.post(thread, speaker("bob", &[]), draft(Kind::Answer, "so"), None).await.unwrap();
    let after = registry.view(thread).await.unwrap();
    assert_eq!(after.said.len(), before.said.len() + 1);
    assert_eq!(after.summary.standing.state, State::Answered);
}

#[actix::test]
async fn a_failed_append_replaces_the_actor_and_says_what_is_known() {
    for (fault, reason, stored) in [
        (Fault::Refuse, Reason::Unavailable, false),
        (Fault::Lose, Reason::Internal, false),
        (Fault::Keep, Reason::Internal, true),
    ] {
        let faulty = Arc::new(Faulty::new(Arc::new(Memory::new())));
        let (registry, lobby) =
            house(Arc::clone(&faulty) as Arc<dyn Journal>, Settings::default()).await;
        let thread = opened(&registry, &lobby).await;
        let neighbour = opened(&registry, &lobby).await;
        // The board, two openings: the next append is the fourth.
        faulty.plan(4, fault);
        let bob = speaker("bob", &[]);
        let refused = registry
            .post(thread, bob.clone(), draft(Kind::Answer, "so"), Some("b".into()))
            .await
            .unwrap_err();
        assert_eq!(refused.reason, reason, "{fault:?}");
        registry.post(neighbour, bob.clone(), draft(Kind::Answer, "so"), None).await.unwrap();
        let view = registry.view(thread).await.unwrap();
        assert_eq!(view.said.len() == 2, stored, "{fault:?}");
        let again =
            registry.post(thread, bob, draft(Kind::Answer, "so"), Some("b".into())).await.unwrap();
        assert_eq!(again.replayed, stored, "{fault:?}");
        assert_eq!(registry.view(thread).await.unwrap().said.len(), 2);
        assert_eq!(registry.directory().line(thread).unwrap().messages, 2);
    }
}

#[actix::test]
async fn a_full_queue_answers_unavailable_and_stores_nothing() {
    let settings = Settings { queue_per_thread_max: 4, ..Settings::default() };
    let (registry, lobby) = house(Arc::new(Memory::new()), settings).await;
    let thread = opened(&registry, &lobby).await;
    let posts = (0..64).map(|n| {
        registry.post(thread, speaker(&format!("b{n}"), &[]), draft(Kind::Note, "n"), None)
    });
    let answers = futures_util::future::join_all(posts).await;
    let accepted = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(
        answers
            .iter()
            .flat_map(|a| a.as_ref().err())
            .all(|refusal| refusal.reason == Reason::Unavailable)
    );
    assert!((4..64).contains(&accepted), "{accepted}");
    assert_eq!(registry.view(thread).await.unwrap().said.len(), accepted + 1);
}

#[actix::test]
async fn a_new_house_on_the_same_journal_is_the_old_one() {
    let journal: Arc<dyn Journal> = Arc::new(Memory::new());
    let (old, lobby) = house(Arc::clone(&journal), Settings::default()).await;
    let thread = opened(&old, &lobby).await;
    let token =
        old.issue_token("parley".into(), "Scout".into(), Rights::READ, [7; 32]).await.unwrap();
    let (new, _) = house(journal, Settings::default()).await;
    assert_eq!(new.known(thread), old.known(thread));
    assert_eq!(new.shelves().token(token.id.number).as_deref(), Some(&token));
    let next = opened(&new, &lobby).await;
    assert_eq!(next.number, thread.number + 1);
    assert_eq!(new.directory().counters(lobby.number).threads, 2);
}

#[actix::test]
async fn a_caller_that_hangs_up_and_asks_again_gets_its_first_answer() {
    let (registry, lobby) = house(Arc::new(Memory::new()), Settings::default()).await;
    let thread = opened(&registry, &lobby).await;
    let post =
        || registry.post(thread, speaker("bob", &[]), draft(Kind::Answer, "so"), Some("r".into()));
    {
        let first = post();
        tokio::pin!(first);
        tokio::select! {
            biased;
            done = &mut first => panic!("done at once: {done:?}"),
            () = std::future::ready(()) => {}
        }
    }
    assert!(post().await.unwrap().replayed);
    assert_eq!(registry.view(thread).await.unwrap().said.len(), 2);
}
