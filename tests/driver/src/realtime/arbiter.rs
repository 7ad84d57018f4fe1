// SPDX-License-Identifier: MIT OR Apache-2.0

//! Who asks for a response, and when: one place, one request at a time.
//!
//! A request that comes while a response is active is refused, and nothing else happens: whoever made it must make it
//! again. One that comes where the provider answers by itself makes the model speak twice about the same thing.

use std::time::Duration;

use units::Instant;

/// How long a response that was asked for, or that the provider begins by itself, is waited for.
const ANNOUNCED_WITHIN: Duration = Duration::from_secs(10);

/// Requests for the same thing; after that it is left to the person's next turn.
const TRIES: u32 = 3;

/// What is known of responses, and what is wanted of them.
#[derive(Debug, Default)]
pub(crate) struct Arbiter {
    /// One has begun and is not over.
    active: bool,
    /// The provider begins one by itself, by this time at the latest.
    expected: Option<Instant>,
    wish: Option<Wish>,
    asked: Option<Asked>,
    requests: u64,
}

/// The model should speak about what was filed.
#[derive(Debug)]
struct Wish {
    /// The last item of it.
    item: String,
    /// Nothing that the model calls in that response would run.
    in_words: bool,
    /// The provider has that item: a response that begins from here on has read it.
    added: bool,
    /// Requests that were refused or came to nothing.
    tries: u32,
}

/// A response to ask for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) id: String,
    /// The model is to call nothing in it.
    pub(crate) in_words: bool,
}

/// A request of ours that has neither been refused nor led to a response.
#[derive(Debug)]
struct Asked {
    request: String,
    wish: Wish,
    until: Instant,
    /// Another response has begun that has read all of it.
    covered: bool,
}

impl Arbiter {
    /// The model should speak about `item`, which is being sent, and all that went before it.
    pub(crate) fn wish(&mut self, item: &str, in_words: bool) {
        let tries = self.wish.as_ref().map_or(0, |wish| wish.tries);
        self.wish = Some(Wish { item: item.to_owned(), in_words, added: false, tries });
    }

    /// The provider has `item`.
    pub(crate) fn on_added(&mut self, item: &str) {
        let asked = self.asked.as_mut().map(|asked| &mut asked.wish);
        for wish in self.wish.as_mut().into_iter().chain(asked) {
            wish.added |= wish.item == item;
        }
    }

    /// The person's turn is over: the provider answers it by itself.
    pub(crate) fn on_committed(&mut self, now: Instant) {
        self.expected = Some(now + ANNOUNCED_WITHIN);
    }

    /// A response has begun: by `request`, unless the provider began it by itself.
    pub(crate) fn on_created(&mut self, request: Option<&str>) {
        self.active = true;
        self.expected = None;
        if self.wish.as_ref().is_some_and(|wish| wish.added) {
            self.wish = None;
        }
        if self.asked.as_ref().is_some_and(|asked| Some(asked.request.as_str()) == request) {
            self.asked = None;
        } else if let Some(asked) = &mut self.asked {
            asked.covered |= asked.wish.added;
        }
    }

    /// The response is over.
    pub(crate) fn on_done(&mut self) {
        self.active = false;
    }

    /// `request` was refused: a response is active, whether it has been announced or not.
    pub(crate) fn on_refused(&mut self, request: &str) {
        if let Some(asked) = self.asked.take_if(|asked| asked.request == request) {
            self.active = true;
            self.want_again(asked);
        }
    }

    /// The next request to make, if one is wanted and the way is free.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Request> {
        self.expected = self.expected.filter(|until| now < *until);
        if let Some(lost) = self.asked.take_if(|asked| asked.until <= now) {
            self.want_again(lost);
        }
        if self.active || self.expected.is_some() || self.asked.is_some() {
            return None;
        }
        let wish = self.wish.take()?;
        self.requests += 1;
        let request = format!("request-{}", self.requests);
        let (until, in_words) = (now + ANNOUNCED_WITHIN, wish.in_words);
        self.asked = Some(Asked { request: request.clone(), wish, until, covered: false });
        Some(Request { id: request, in_words })
    }

    /// When a wait is over.
    pub(crate) fn due(&self) -> Option<Instant> {
        let asked = self.asked.as_ref().map(|asked| asked.until);
        self.expected.into_iter().chain(asked).min()
    }

    fn want_again(&mut self, Asked { mut wish, covered, .. }: Asked) {
        wish.tries += 1;
        if covered || wish.tries >= TRIES {
            return;
        }
        match &mut self.wish {
            // What was filed since is wanted too, and the later item stands for both.
            Some(later) => later.tries = later.tries.max(wish.tries),
            None => self.wish = Some(wish),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::ZERO;

    fn next(arbiter: &mut Arbiter, now: Instant) -> Option<String> {
        arbiter.next(now).map(|request| request.id)
    }

    fn filed(item: &str) -> Arbiter {
        let mut arbiter = Arbiter::default();
        arbiter.wish(item, false);
        arbiter
    }

    #[test]
    fn one_request_at_a_time() {
        let mut arbiter = filed("a");
        assert_eq!(next(&mut arbiter, NOW).as_deref(), Some("request-1"));
        arbiter.wish("b", false);
        assert_eq!(next(&mut arbiter, NOW), None, "the first is not announced yet");
        arbiter.on_created(Some("request-1"));
        arbiter.on_added("b");
        assert_eq!(next(&mut arbiter, NOW), None, "a response is active");
        arbiter.on_done();
        assert_eq!(
            next(&mut arbiter, NOW).as_deref(),
            Some("request-2"),
            "it had begun before `b` was there"
        );
        arbiter.on_created(Some("request-2"));
        arbiter.on_done();
        assert_eq!(next(&mut arbiter, NOW), None);
    }

    #[test]
    fn a_response_of_the_providers_own_that_has_read_it_is_enough() {
        let mut arbiter = filed("a");
        arbiter.on_committed(NOW);
        assert_eq!(next(&mut arbiter, NOW), None, "the provider is about to answer by itself");
        arbiter.on_added("a");
        arbiter.on_created(None);
        arbiter.on_done();
        assert_eq!(next(&mut arbiter, NOW), None);
    }

    #[test]
    fn one_that_began_before_is_not() {
        let mut arbiter = filed("a");
        arbiter.on_created(None);
        arbiter.on_added("a");
        arbiter.on_done();
        assert!(next(&mut arbiter, NOW).is_some());
    }

    #[test]
    fn one_that_the_provider_never_begins_is_waited_for_so_long() {
        let mut arbiter = filed("a");
        arbiter.on_committed(NOW);
        let until = NOW + ANNOUNCED_WITHIN;
        assert_eq!(arbiter.due(), Some(until));
        assert_eq!(arbiter.next(until.saturating_sub(Duration::from_millis(1))), None);
        assert!(next(&mut arbiter, until).is_some());
    }

    #[test]
    fn a_refused_request_is_made_again_when_the_way_is_free() {
        let mut arbiter = filed("a");
        for tries in 1..=TRIES {
            let request = next(&mut arbiter, NOW).expect("it is wanted still");
            assert_eq!(request, format!("request-{tries}"));
            arbiter.on_refused(&request);
            assert_eq!(next(&mut arbiter, NOW), None, "one is active");
            arbiter.on_done();
        }
        assert_eq!(next(&mut arbiter, NOW), None, "it is left to the person's next turn");
    }

    #[test]
    fn a_refused_request_whose_answers_were_read_is_not_made_again() {
        let mut arbiter = filed("a");
        let request = next(&mut arbiter, NOW).expect("the way is free");
        arbiter.on_added("a");
        arbiter.on_created(None);
        arbiter.on_refused(&request);
        arbiter.on_done();
        assert_eq!(next(&mut arbiter, NOW), None);
    }

    #[test]
    fn a_request_that_comes_to_nothing_is_made_again() {
        let mut arbiter = filed("a");
        assert!(next(&mut arbiter, NOW).is_some());
        assert_eq!(arbiter.due(), Some(NOW + ANNOUNCED_WITHIN));
        assert_eq!(next(&mut arbiter, NOW + ANNOUNCED_WITHIN).as_deref(), Some("request-2"));
    }

    #[test]
    fn what_is_asked_in_words_stays_so_when_it_is_asked_again_and_the_later_wish_counts() {
        let mut arbiter = Arbiter::default();
        arbiter.wish("a", true);
        let first = arbiter.next(NOW).expect("the way is free");
        arbiter.on_refused(&first.id);
        arbiter.on_done();
        let second = arbiter.next(NOW).expect("it is wanted still");
        assert_eq!((first.in_words, second.in_words), (true, true));
        arbiter.wish("b", false);
        arbiter.on_refused(&second.id);
        arbiter.on_done();
        assert_eq!(arbiter.next(NOW).map(|request| request.in_words), Some(false));
    }
}
